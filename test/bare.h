/*
 * System calls without libc, whose functions the library under test may have replaced.
 */
#ifndef HP_TEST_BARE_H
#define HP_TEST_BARE_H

#include <sys/syscall.h>

#if defined(__x86_64__)
/* Returns 0 or more, or -errno. */
static inline long bare4(long number, long a, long b, long c, long d)
{
	register long fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
static inline long bare4(long number, long a, long b, long c, long d)
{
	register long call __asm__("x8") = number;
	register long first __asm__("x0") = a;
	register long second __asm__("x1") = b;
	register long third __asm__("x2") = c;
	register long fourth __asm__("x3") = d;

	__asm__ volatile("svc #0"
			 : "+r"(first)
			 : "r"(call), "r"(second), "r"(third), "r"(fourth)
			 : "memory");
	return first;
}
#else
#error "bare.h does not know the system calls of this machine"
#endif

#endif
