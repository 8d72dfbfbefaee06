/*
 * The kernels of all tests: PTX text, which the driver compiles, and host twins for the stand-in.
 *
 * A program that links ptx.c exports the twins (-rdynamic), and tells it where the stand-in is.
 * The kernels and their parameters:
 *
 *   test_nothing()                        returns
 *   test_spin(u64 ns)                     runs for a time, as one thread
 *   test_work(u64 ns, u64 at, u32 number) runs for a time, then writes the number
 *   test_move(u64 to, u64 from)           moves 8 bytes
 *   test_copy(u64 to, u64 from, u64 bytes)
 *                                         copies a multiple of 4 bytes; host memory is allowed, too
 *   test_await(u64 at, u64 late)          waits until the word is not 0; gives up after 2 s, and
 *                                         writes 1 to *late
 *   test_trap()                           faults
 *   test_xor(u64 at, u64 words, u64 key, u64 ns)
 *                                         runs for a time, then changes every 8-byte word
 *   test_mix(u64 out, u64 in, u64 words, u64 ns)
 *                                         runs for a time, then adds words of one block to another
 *   test_consume(u64 in, u64 words, u64 out, u64 ns)
 *                                         combines the words of `in` into *out by exclusive or,
 *                                         and runs for a time
 *   test_weigh(u64 in, u64 words, u64 out)
 *                                         adds ptx_weight() of `in` to *out
 *   test_say(u64 ns, u64 aloud)           runs for a time, then prints "kernel" unless aloud is 0
 */
#ifndef HP_HARNESS_PTX_H
#define HP_HARNESS_PTX_H

#include <stdbool.h>
#include <stdint.h>

/* All kernels except test_say(), whose own image takes memory for its text. */
extern const char ptx_image[], ptx_saying[];

/* Finds the stand-in's functions for twins, in the handle of libcuda.so.1; nothing on a device. */
void ptx_find_stand_in(void *driver);

/*
 * Called by the twin of test_await(): waits until *at is not 0, false if it gives up.  NULL: gives
 * up immediately.
 */
extern bool (*ptx_await)(const volatile uint32_t *at);

/*
 * Returns the sum of each word times an odd number that its place determines; in[0] is word
 * `first`.
 */
static inline uint64_t ptx_weight(const uint64_t *in, uint64_t first, uint64_t words)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < words; i++)
		sum += in[i] * (2 * (first + i) + 1);
	return sum;
}

#endif
