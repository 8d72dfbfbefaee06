/*
 * shadow.c - a map of the owner of each 16 bytes of memory, and marks inside the blocks.
 *
 * Two maps cover the whole address space; they are reserved, and only used where blocks are.  One
 * has a counter for each page, the other a bit for each 16 bytes of pages that several blocks
 * share.  A claim is an atomic operation for each page, so the model does not serialize the threads
 * that it watches.
 */
#include "shadow.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ADDRESS_BITS 47
#define GRAIN        ((size_t)16)
#define WORD_BYTES   (64 * GRAIN)

/* In a page's counter: one block has the whole page.  Smaller values: claims of a part of it. */
#define WHOLE        ((uint16_t)1 << 15)

/* Smaller blocks carry the pattern everywhere. */
#define FULL         ((size_t)1024)
#define END          ((size_t)64)

/* Offset of the mark in a page: the same for all blocks, so that calloc() can be checked there. */
#define MARK_AT      ((size_t)2040)

static _Atomic uint16_t *pages;
static _Atomic uint64_t *grains;

/* Does not call mmap(), which a sanitizer or a preloaded library may intercept. */
static void *reserve(size_t bytes)
{
	return (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

bool shadow_start(void)
{
	pages = reserve(((size_t)1 << ADDRESS_BITS) / PAGE * sizeof(*pages));
	grains = reserve(((size_t)1 << ADDRESS_BITS) / WORD_BYTES * sizeof(*grains));
	return (void *)pages != MAP_FAILED && (void *)grains != MAP_FAILED;
}

/* Returns the bits of [from, to) in the word that contains `from`. */
static uint64_t bits_of(uintptr_t from, uintptr_t to)
{
	uintptr_t first = from / GRAIN, last = (to - 1) / GRAIN;

	if (last / 64 != first / 64)
		last = first | 63;
	return ~(uint64_t)0 >> (63 - (last - first)) << first % 64;
}

/* Claims [from, to) within one page. */
static bool claim_part(uintptr_t from, uintptr_t to)
{
	bool free = !(atomic_fetch_add(&pages[from / PAGE], 1) & WHOLE);

	for (; from < to; from = (from | (WORD_BYTES - 1)) + 1) {
		uint64_t bits = bits_of(from, to);

		if (atomic_fetch_or(&grains[from / WORD_BYTES], bits) & bits)
			free = false;
	}
	return free;
}

static bool release_part(uintptr_t from, uintptr_t to)
{
	uintptr_t page = from / PAGE;
	bool was = true;

	for (; from < to; from = (from | (WORD_BYTES - 1)) + 1) {
		uint64_t bits = bits_of(from, to);

		if ((atomic_fetch_and(&grains[from / WORD_BYTES], ~bits) & bits) != bits)
			was = false;
	}
	uint16_t before = atomic_fetch_sub(&pages[page], 1);
	return was && before != 0 && !(before & WHOLE);
}

static bool change(const void *address, size_t bytes, bool claim)
{
	uintptr_t at = (uintptr_t)address, end = at + bytes;
	bool right = at < end && end >> ADDRESS_BITS == 0;

	while (right && at < end) {
		uintptr_t next = (at | (PAGE - 1)) + 1;

		if (next > end)
			next = end;
		if (next - at < PAGE) {
			right = claim ? claim_part(at, next) : release_part(at, next);
		} else {
			uint16_t expected = claim ? 0 : WHOLE;

			right = atomic_compare_exchange_strong(&pages[at / PAGE], &expected,
							       claim ? WHOLE : 0);
		}
		at = next;
	}
	return right;
}

bool shadow_claim(const void *address, size_t bytes)
{
	return change(address, bytes, true);
}

bool shadow_release(const void *address, size_t bytes)
{
	return change(address, bytes, false);
}

struct pattern pattern_for(const void *address, size_t bytes, uint64_t seed, size_t pages_most)
{
	size_t step = 1;

	while (bytes / PAGE / step > pages_most)
		step *= 2;
	return (struct pattern){ seed, (uintptr_t)address, bytes, step };
}

size_t pattern_touches(const struct pattern *pattern)
{
	return (pattern->bytes / PAGE / pattern->step + 2) * PAGE;
}

static uint64_t word_of(uint64_t seed, size_t offset)
{
	uint64_t word = (seed ^ offset) * 0x9e3779b97f4a7c15u;

	return word ^ word >> 29;
}

/* Writes the eight bytes from `offset` on, or those before `end`. */
static void put(const struct pattern *pattern, char *address, size_t offset, size_t end)
{
	uint64_t word = word_of(pattern->seed, offset);

	memcpy(address + offset, &word, end - offset < 8 ? end - offset : 8);
}

static bool is_there(const struct pattern *pattern, const char *address, size_t offset, size_t end)
{
	uint64_t word = word_of(pattern->seed, offset);

	return memcmp(address + offset, &word, end - offset < 8 ? end - offset : 8) == 0;
}

/* Returns the lowest offset of a mark that is not below `offset`. */
static size_t mark_from(const struct pattern *pattern, size_t offset)
{
	size_t stride = pattern->step * PAGE;
	uintptr_t at = pattern->origin + offset;
	uintptr_t mark = at / stride * stride + MARK_AT;

	return (mark < at ? mark + stride : mark) - pattern->origin;
}

/*
 * Returns the next offset with pattern: anywhere in a small block; otherwise the first bytes, the
 * marks, and the last bytes.
 */
static size_t place_after(const struct pattern *pattern, size_t offset)
{
	size_t last = pattern->bytes - END;

	if (pattern->bytes <= FULL || offset + 8 < END || offset >= last)
		return offset + 8;

	size_t mark = mark_from(pattern, offset + 8);
	return mark + 8 <= last ? mark : last;
}

void pattern_write(const struct pattern *pattern, char *address)
{
	for (size_t at = 0; at < pattern->bytes; at = place_after(pattern, at))
		put(pattern, address, at, pattern->bytes);
}

size_t pattern_wrong_at(const struct pattern *pattern, const char *address, size_t bytes)
{
	size_t end = bytes < pattern->bytes ? bytes : pattern->bytes;

	for (size_t at = 0; at < end; at = place_after(pattern, at))
		if (!is_there(pattern, address, at, end))
			return at;
	return SIZE_MAX;
}

static bool are_zero(const char *address, size_t bytes)
{
	return bytes == 0 || (address[0] == 0 && memcmp(address, address + 1, bytes - 1) == 0);
}

bool pattern_is_zero(const char *address, size_t bytes, size_t step, bool all)
{
	const struct pattern places = { 0, (uintptr_t)address, bytes, step };

	if (all || bytes <= 2 * PAGE)
		return are_zero(address, bytes);
	if (!are_zero(address, PAGE) || !are_zero(address + bytes - PAGE, PAGE))
		return false;
	for (size_t at = 0; at < bytes; at = place_after(&places, at))
		if (!are_zero(address + at, bytes - at < 8 ? bytes - at : 8))
			return false;
	return true;
}
