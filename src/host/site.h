/*
 * Which call of the program's asked for this memory, and what became of what it asked for?
 *
 * A site is told by the return address and by the height of the stack, which differ between paths
 * through a common wrapper as well ("inferred call path profiling", Mytkowicz, Coughlin and Diwan,
 * OOPSLA 2009).  A stack is not walked: that costs a microsecond, needs a library that is not
 * linked, and a program's frames may not bear it.
 *
 * What is known of sites is in a table of fixed size.  All functions: any thread, under any lock,
 * none is taken, some ten nanoseconds.
 */
#ifndef HP_HOST_SITE_H
#define HP_HOST_SITE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The site of an allocation function's caller, from its return address and frame; never 0.  The
 * height counts from the thread pointer, near which the stack of every thread but the first lies:
 * equal threads have equal sites.  Differs from run to run.
 */
static inline uint32_t site_of(const void *return_address, const void *frame)
{
	uint64_t height = (uintptr_t)__builtin_thread_pointer() - (uintptr_t)frame;
	uint64_t mixed = ((uintptr_t)return_address ^ height << 32 ^ height >> 32) *
			 UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 32) | 1;
}

/*
 * Pure: a history, of the last eight seasons (heat.h) and their number, with one more.  0: none
 * yet.
 */
uint32_t site_history_add(uint32_t history, bool hot);

/* Pure: will the next be worth pinning?  After two at least, if more than half of them were. */
bool site_history_is_hot(uint32_t history);

/* Were most seasons of the site's blocks worth pinning? */
bool site_is_hot(uint32_t site);

/* A season of one of its blocks turned out worth its price, or is over and was not. */
void site_note_season(uint32_t site, bool hot);

/*
 * Are the blocks that this site asks for touched all through by the time that they are copied?
 * Then 2 MiB pages cost it nothing.
 */
enum site_density {
	SITE_UNKNOWN, /* never seen */
	SITE_SPARSE,  /* not all of the last eight; any at site 0 */
	SITE_DENSE,
};

/* And what site_set_trial() remembers; 0: nothing. */
enum site_density site_density(uint32_t site, uintptr_t *ret_trial);

/* A block of the site's was looked at. */
void site_note_dense(uint32_t site, bool dense);

/* An address to remember, of a block that may tell. */
void site_set_trial(uint32_t site, uintptr_t address);

/* What the common bank starts with: the constant by which we may ever exceed twice the best, ns. */
#define SITE_ENDOWMENT_NS ((uint64_t)2000000)

/* What the bank of the site has and what the common one has, ns. */
void site_funds(uint32_t site, uint64_t *ret_own, uint64_t *ret_common);

/*
 * Takes `ns` out of the site's bank, and if `common`, what that lacks out of the common one.
 * False: there is not so much, nothing was taken.
 */
bool site_draw(uint32_t site, uint64_t ns, bool common);

/* Puts `ns` into the site's bank; the common one is that of site 0. */
void site_credit(uint32_t site, uint64_t ns);

#endif
