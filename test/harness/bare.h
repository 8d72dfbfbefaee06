/*
 * System calls without libc, whose functions the library under test may have replaced.
 */
#ifndef HP_HARNESS_BARE_H
#define HP_HARNESS_BARE_H

#include <sys/syscall.h>

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

static inline long bare4(long number, long a, long b, long c, long d)
{
	return bare6(number, a, b, c, d, 0, 0);
}

#endif
