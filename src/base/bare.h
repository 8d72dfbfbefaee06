/*
 * The kernel, asked without libc: nothing else is called, and errno is left alone.
 *
 * For code that also runs in a signal handler, perhaps inside libc.
 */
#ifndef HP_BASE_BARE_H
#define HP_BASE_BARE_H

#include <stdint.h>
#include <sys/syscall.h>

/* What the kernel takes for a signal mask on 64-bit machines. */
typedef uint64_t hp_mask;

#define HP_MASK_OF(signal) ((hp_mask)1 << ((signal)-1))

#if defined(__x86_64__)
/* How many words a call has in registers. */
#define HP_BARE_ARGUMENTS 6

/* 0 or more, or -errno. */
static inline long hp_bare4(long number, long a, long b, long c, long d)
{
	register long fourth __asm__("r10") = d;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}

/* In a loop that waits for another thread. */
static inline void hp_bare_pause(void)
{
	__asm__ volatile("pause" ::: "memory");
}
#elif defined(__aarch64__)
#define HP_BARE_ARGUMENTS 8

static inline long hp_bare4(long number, long a, long b, long c, long d)
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

static inline void hp_bare_pause(void)
{
	__asm__ volatile("yield" ::: "memory");
}
#else
#error "bare.h does not know how to ask the kernel on this machine"
#endif

/* `how`, and what the mask was before; `set` NULL: it is only asked. */
static inline void hp_bare_mask(int how, const hp_mask *set, hp_mask *ret_before)
{
	hp_bare4(SYS_rt_sigprocmask, how, (long)set, (long)ret_before, sizeof(hp_mask));
}

#endif
