/*
 * callers.c - notes some words of the stack for each allocator.
 *
 * C++ programs allocate in operator new, so the caller of malloc() is often libstdc++.  The next
 * caller is found by searching the stack for a word that points behind a call instruction.
 */
#define _GNU_SOURCE
#include "trace/places/callers.h"
#include "trace/samples/chains.h"

#include <stdatomic.h>
#include <string.h>

#define SITES  2048 /* a power of two */
#define WORDS  24
#define SEARCH 32 /* words from our frame up to the caller's return address */

struct noted {
	_Atomic uint32_t allocator; /* 0: free */
	_Atomic uint32_t words;     /* number of words written; 0: none yet */
	uintptr_t word[WORDS];      /* the caller, then the words above it */
};

static struct noted noted[SITES];

/* Returns the entry of the allocator, or a free one; NULL: neither is near. */
static struct noted *entry_of(uint32_t allocator)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct noted *entry = &noted[((allocator >> 1) + i) % SITES];
		uint32_t there = atomic_load_explicit(&entry->allocator, memory_order_relaxed);

		if (there == allocator || there == 0)
			return entry;
	}
	return NULL;
}

/* Reads up to the end of the page, since the next page may not be mapped. */
__attribute__((no_sanitize("address"))) static uint32_t read_stack(const uintptr_t *slot,
								   uintptr_t *ret)
{
	uint32_t words = 0;

	do {
		ret[words] = slot[words];
		words++;
	} while (words < WORDS && ((uintptr_t)(slot + words) & 4095) != 0);
	return words;
}

__attribute__((no_sanitize("address"))) static const uintptr_t *find_slot(const uintptr_t *frame,
									  uintptr_t caller)
{
	for (size_t i = 0; i < SEARCH && (i == 0 || ((uintptr_t)(frame + i) & 4095) != 0); i++)
		if (frame[i] == caller)
			return frame + i;
	return NULL;
}

void callers_note(uint32_t allocator, const void *caller, const void *frame)
{
	struct noted *entry = entry_of(allocator);
	uint32_t expected = 0;

	if (entry == NULL ||
	    atomic_load_explicit(&entry->allocator, memory_order_relaxed) == allocator ||
	    !atomic_compare_exchange_strong(&entry->allocator, &expected, allocator))
		return;

	const uintptr_t *slot = find_slot(frame, (uintptr_t)caller);
	uint32_t words = 1;
	if (slot != NULL)
		words = read_stack(slot, entry->word);
	else
		entry->word[0] = (uintptr_t)caller;
	atomic_store_explicit(&entry->words, words, memory_order_release);
}

static bool allocates_for_others(const struct module *module)
{
	static const char *const names[] = { "libstdc++.so", "libc++.so", "libc++abi.so",
					     "libc.so.6" };
	const char *slash = strrchr(module->path, '/');
	const char *name = slash != NULL ? slash + 1 : module->path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/*
 * True if the address is behind a call instruction.  Reads the code before it.  On CPUs whose calls
 * we cannot recognize, no address counts, since a guess would be worthless.
 */
static bool returns(uintptr_t address, const struct module *module)
{
	if (address < module->text_from + CHAINS_CODE_BYTES || address > module->text_to)
		return false;
	return chains_ends_with_call((const uint8_t *)address - CHAINS_CODE_BYTES);
}

bool callers_find(uint32_t allocator, struct frames_place *ret)
{
	struct noted *entry = entry_of(allocator);
	struct module module;

	*ret = (struct frames_place){ 0 };
	if (entry == NULL ||
	    atomic_load_explicit(&entry->allocator, memory_order_relaxed) != allocator)
		return false;
	uint32_t words = atomic_load_explicit(&entry->words, memory_order_acquire);
	if (words == 0)
		return false;
	modules_note(entry->word[0] - 1);
	ret->frame[0] = modules_find(entry->word[0]);
	ret->depth = 1;
	if (ret->frame[0].module == MODULES_NOWHERE)
		return false;
	modules_read(ret->frame[0].module, &module);
	if (!allocates_for_others(&module))
		return false;
	for (uint32_t i = 1; i < words; i++) {
		uintptr_t word = entry->word[i];

		if (word < 65536 || word >= (uintptr_t)1 << 47)
			continue;
		modules_note(word);
		struct module_place there = modules_find(word);
		if (there.module == MODULES_NOWHERE || there.module == ret->frame[0].module)
			continue;
		modules_read(there.module, &module);
		if (allocates_for_others(&module) || !returns(word, &module))
			continue;
		ret->frame[1] = there;
		ret->depth = 2;
		return true;
	}
	return false;
}
