/*
 * System calls without libc, whose functions the library under test may have replaced.
 */
#ifndef HP_HARNESS_BARE_H
#define HP_HARNESS_BARE_H

#include <sys/syscall.h>

#if defined(__x86_64__)
/* Returns 0 or more, or -errno. */
static inline long bare6(long number, long a, long b, long c, long d, long e, long f)
{
	register long fourth __asm__("r10") = d;
	register long fifth __asm__("r8") = e;
	register long sixth __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long bare6(long number, long a, long b, long c, long d, long e, long f)
{
	register long call __asm__("x8") = number;
	register long first __asm__("x0") = a;
	register long second __asm__("x1") = b;
	register long third __asm__("x2") = c;
	register long fourth __asm__("x3") = d;
	register long fifth __asm__("x4") = e;
	register long sixth __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(first)
			 : "r"(call), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(sixth)
			 : "memory");
	return first;
}
#else
#error "bare.h does not know the system calls of this machine"
#endif

static inline long bare4(long number, long a, long b, long c, long d)
{
	return bare6(number, a, b, c, d, 0, 0);
}

#endif
