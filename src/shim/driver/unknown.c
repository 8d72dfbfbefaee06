/*
 * unknown.c - the stubs in front of functions that driver.def does not list.  Lock-free.
 */
#define _GNU_SOURCE
#include "shim/driver/unknown.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/protections.h"
#include "engine/capture.h"
#include "engine/defer.h"
#include "engine/gate.h"
#include "engine/housekeeper.h"
#include "engine/visibility.h"
#include "pin/unpin.h"
#include "shim/driver/frame.h"
#include "shim/driver/thunk.h"
#include "trace/trace.h"

#include <errno.h>
#include <string.h>

/* A stub's function.  The address is written once; threads that look it up write the same word. */
static struct {
	void *_Atomic address;
	const char *_Atomic word; /* of the name, as in word_of() */
} functions[SHIM_UNKNOWN_MOST];

/* Returns the word by which a name is that of a copy, or begins a capture of copies; or "". */
static const char *word_of(const char *name)
{
	static const char *const words[] = { "BeginCapture", "BeginRecapture", "Memcpy", "Copy",
					     "Prefetch",     "Discard",        "Batch" };

	for (size_t i = 0; i < HP_LEN(words); i++)
		if (strstr(name, words[i]) != NULL)
			return words[i];
	return "";
}

/* The VDPAU functions are old, but their header needs another project's: driver.def lacks them. */
static void count(const char *name)
{
	if (strstr(name, "VDPAU") != NULL)
		return;
	hp_count(names_unknown);
	hp_debug("%s is new to this version: handed out through a gate", name);
}

void *unknown_stub(const char *name, void *address)
{
	for (size_t i = 0; i < SHIM_UNKNOWN_MOST; i++) {
		void *found = NULL;

		if (atomic_compare_exchange_strong(&functions[i].address, &found, address)) {
			count(name);
			found = address;
		}
		if (found != address)
			continue;
		atomic_store(&functions[i].word, word_of(name));
		return (char *)shim_unknown_stubs + SHIM_UNKNOWN_BYTES * i;
	}
	unknown_acts(name);
	return address;
}

void *unknown_enter(size_t stub)
{
	unknown_acts(atomic_load(&functions[stub].word));
	if (atomic_load(&gate_word) & (GATE_WATCHED | GATE_CLOSED))
		housekeeper_work_submitted();
	return atomic_load(&functions[stub].address);
}

void unknown_acts(const char *name)
{
	int saved = errno;

	visibility_raise(REAL_SEEN_UNTRACKED);
	trace_called_unknown();
	if (hp_keeps(join_the_unknown))
		defer_join();
	const char *word = word_of(name);
	if (word[0] != '\0' && hp_keeps(unpin_for_the_unknown))
		pin_end("the program copies by a function that is new to this version");
	if (strncmp(word, "Begin", 5) == 0)
		capture_unseen();
	errno = saved;
}
