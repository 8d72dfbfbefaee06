/*
 * How is one copy carried out?  Pure: facts in, a route out.
 *
 * The figures are an H200's (PCIe 5 x16, driver 580.159, CUDA 13.0).
 */
#ifndef HP_COPY_PLAN_H
#define HP_COPY_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the host side of a copy lies. */
enum copy_place {
	COPY_ELSEWHERE, /* not in a block of ours, or no host side at all */
	COPY_PAGEABLE,  /* begins in a block of ours that is not pinned by us */
	COPY_PINNED,    /* wholly in one registration of ours */
	COPY_PIECES,    /* wholly in one block of ours, in several registrations */
	COPY_STRADDLES, /* begins in such a block and ends outside it */
	COPY_PLACES
};

/* As HOTPIN_ROUTE lists them. */
enum copy_route {
	COPY_AUTO,   /* as copy_plan() finds it, which never answers so */
	COPY_PASS,   /* the driver's call, untouched */
	COPY_DIRECT, /* the driver's call; the device reads or writes the pinned block itself */
	COPY_WAIT,   /* likewise, then wait for the stream: pageable memory's asynchronous copies
		      * come back with the source free or the data there, and programs rely on it */
	COPY_BOUNCE, /* from a copy of the source: a pageable one, staged by the driver inside the
		      * call, or in a place of the pocket (copy/pocket.h) */
	COPY_SPLIT,  /* one call for each side of a border: a range that begins in a registration
		      * and ends outside it is refused (CUDA_ERROR_INVALID_VALUE) */
	COPY_SEND,   /* as a split one, but the pieces are enqueued and only the last is waited for;
		      * they may be pinned as they come: register and send */
	COPY_STAGE,  /* through a ring of pinned memory that several threads fill or empty */
	COPY_EARLY,  /* likewise, to the device, and back once the ring has all of it */
	COPY_DEFER,  /* the driver's asynchronous copy, of pageable memory, which it stages inside
		      * the call, or out of the pocket; it comes back before the device is done */
	COPY_ROUTES
};

struct copy_facts {
	enum copy_place place;
	bool to_device; /* the host side is the source */
	bool linear;    /* one run of bytes on the host side, whose other end can be offset too */
	bool asynchronous;
	bool behind_work; /* its stream has not finished what it was given */
	bool deferrable;  /* a synchronous upload that may come back early */
	bool sendable;    /* one run of bytes, which may be enqueued in pieces */
	bool stageable;   /* one run of bytes, or rows: the ring of pinned memory may be used */
	bool untouched;   /* the host side is pages that nobody has touched yet, as far as seen */
	unsigned workers; /* copy threads beside the calling one */
	size_t bytes;
	size_t extent;          /* from the first byte on the host side to behind the last */
	enum copy_route forced; /* HOTPIN_ROUTE */
};

/*
 * From this size on an asynchronous H2D copy of pageable memory blocks until the stream has come
 * to it; 1 MiB and less is staged at once, even behind a kernel.  The border lies between.
 */
#define COPY_BLOCKS_FROM  ((size_t)4 << 20)

/* Up to this size staging beats a pinned copy and the wait for it: 5.8 against 6.4 us at 64 B. */
#define COPY_STAGED_MOST  ((size_t)16 << 10)

/*
 * From there on up to this size an asynchronous upload of pinned memory is bounced whatever its
 * stream is at; behind work up to COPY_TAKEN_LEAST.  On an idle stream, until the call is back and
 * until the copy is done, plain, from a pageable copy, from the pocket, and straight from pinned
 * memory with the wait for it, us (a program that makes these calls, without the library):
 *
 *	            32 KiB      64 KiB      128 KiB     256 KiB
 *	plain       3.8  12.4   7.0  18.0   10.5 20.8   18.3 30.9
 *	pageable    4.6  13.2   8.8  18.0   14.2 24.4   26.3 39.0
 *	pocket      3.0  12.9   4.7  16.0   7.3  21.1   12.8 32.6
 *	straight    9.0  12.3   9.6  12.9   10.8 14.2   13.1 16.4
 */
#define COPY_POCKET_MOST  ((size_t)128 << 10)

/*
 * Up to this size the driver takes some 4 MiB of asynchronous copies of pageable memory in, behind
 * whatever runs; from 256 KiB on it blocks at the second.  Synchronous and so, us:
 *
 *	            16 KiB        32 KiB        64 KiB        128 KiB
 *	idle        4.2   3.4     4.9   4.1     7.6   6.2     10.6  9.2
 *	in a row    8.5   3.4     11.1  3.8     17.8  7.2     21.4  12.6
 *	behind work 8.5   3.8     8.8   3.8     12.8  6.2     15.7  9.5
 *
 * By way of the ring, idle: 15 (64 KiB) and 22 (128 KiB).
 */
#define COPY_DEFER_MOST   ((size_t)128 << 10)

/*
 * A synchronous upload of pageable memory up to this size, on an empty stream, comes back whatever
 * the legacy stream is at, which it is ordered behind.
 */
#define COPY_OVER_MOST    ((size_t)64 << 10)

/*
 * Of pinned memory, which is bounced first; behind work COPY_DEFER_MOST.  On an idle stream 64 KiB
 * take 8.7 us plain, 10.0 straight from there, 5.8 by way of the pocket; 128 KiB 12.2, 10.8 and
 * 7.1, but are done after 22.3, 14.2 and 21.5.
 */
#define COPY_DEFER_PINNED ((size_t)64 << 10)

/*
 * A copy to the host that follows at once pays for what such an upload gained, and more: one up and
 * one down of 64 KiB take 51 us plain, 17.2 straight, 27.4 by way of the pocket.  Who was seen to
 * do that has so many sent straight, then one tries again.
 */
#define COPY_FOLLOWED     16

/*
 * Of these sizes a copy that may come back early does so by way of the ring, half of which it has.
 * A loop of four such copies and a kernel of 1 ms, beside 1 ms of the processor's, took 1.28 ms
 * plain and 1.29 so with 192 KiB, 1.70 and 1.60 with 512 KiB.
 */
#define COPY_EARLY_LEAST  ((size_t)256 << 10)
#define COPY_EARLY_MOST   ((size_t)16 << 20)

/*
 * From this size on an asynchronous upload of pinned memory behind work goes into the ring, which
 * takes it in with help; less is bounced.  Until the call is back, plain, bounced and so, us: 16,
 * 23, 28 (256 KiB), 52, 93, 47 (1 MiB), 119, -, 61 (2 MiB).
 */
#define COPY_TAKEN_LEAST  ((size_t)512 << 10)

/*
 * How long such a copy waits first for what is before it, ns: about as long as it takes to fill the
 * ring.  So it never costs more than twice what the better of both would have.
 */
uint64_t copy_patience_ns(size_t bytes);

/*
 * Larger synchronous uploads always ask whether work is before them, which takes 0.5 us.  Of pinned
 * memory on an idle stream, us, asked, not asked and pinned by hand: 9.1, 8.6 and 8.5 (64 KiB),
 * 12.5, 12.1 and 12.0 (256 KiB).
 */
#define COPY_ASK_ALWAYS ((size_t)256 << 10)

/*
 * Is it time to ask again?  *asked: how often in a row, 0 again once the answer was yes; 0 at
 * first, this function's otherwise.  Always at first; later after COPY_ASK_RARELY times and after
 * one more in turn, twice in 17 times: a loop whose every second, fourth or eighth copy alone has
 * work before it would never be asked at that one else.
 */
#define COPY_ASK_RARELY 8
bool copy_asks_again(uint8_t *asked);

/*
 * What is asked before a small synchronous upload comes back early.  Of pinned memory an idle
 * stream's direct copy is over sooner than a bounced one: that pays where the program goes on to
 * something else than a copy to the host (`followed`: this thread was seen not to), or the direct
 * one would wait.
 */
enum copy_question {
	COPY_ASK_NOTHING,
	COPY_ASK_STREAM,    /* has its stream work left? */
	COPY_ASK_LEGACY_TOO /* or the legacy stream, behind which it comes? */
};
enum copy_question copy_before_bounce(enum copy_place place, size_t bytes, bool followed);

enum copy_route copy_plan(const struct copy_facts *facts);

/*
 * The route of a copy for which copy_plan()'s answer cannot be carried out: the ring has no room,
 * no memory can be had to bounce from, the driver refuses what we enqueue.  None needs memory of
 * ours, and none lets one call name two registrations: COPY_PASS for rows in COPY_PIECES means that
 * the block is unpinned first.
 */
enum copy_route copy_plan_fallback(const struct copy_facts *facts);

/*
 * What staging through the ring spares a copy of pageable memory, ns; 0: nothing, it is passed.
 * Of the facts: direction, asynchronous, workers, bytes, forced.
 */
uint64_t copy_stage_gain_ns(const struct copy_facts *facts);

/* Nothing smaller is staged, up or down, but to come back early, and by HOTPIN_ROUTE. */
#define COPY_STAGE_LEAST ((size_t)16 << 20)
#define COPY_FETCH_LEAST ((size_t)32 << 10)
static inline size_t copy_stage_least(bool to_device)
{
	return to_device ? COPY_STAGE_LEAST : COPY_FETCH_LEAST;
}

/*
 * Is staging better than pinning the destination, a block of ours, now?  Pinning takes the page
 * faults of untouched memory in one thread, the crew takes them in several.
 */
bool copy_stages_rather_than_pins(const struct copy_facts *facts);

/*
 * Making the ring costs about what a copy of 64 MiB gains by it: it is made once copies that were
 * passed for want of it, this one included, would have gained so much.
 */
#define COPY_RING_COST_NS  2000000u

/* Smallest copy between unknown addresses for which it is worth asking what they are. */
#define COPY_ASK_DIRECTION ((size_t)1 << 20)

/* Smallest D2H copy for which it is worth asking whether its destination is untouched. */
#define COPY_ASK_UNTOUCHED ((size_t)1 << 20)

/* How many bytes each piece of a staged copy has: a power of two, COPY_PIECE_LEAST at least. */
#define COPY_PIECE_LEAST   ((size_t)128 << 10)
size_t copy_piece(bool to_device, size_t bytes);

/* How many of `workers` a staged copy can use: more would only wait for the bus. */
unsigned copy_hands(bool to_device, size_t bytes, bool untouched, unsigned workers);

/*
 * From here on a copy to the host calls its hands when it begins, not when there is work: 64 MiB
 * take 1.83 ms instead of 2.12, 256 MiB 7.8 instead of 8.5; less gains nothing by it.
 */
#define COPY_CALLS_FROM ((size_t)64 << 20)

/*
 * Would pinning spare this copy of pageable memory anything?  Not where the driver stages it and
 * returns at once: waiting for a pinned copy could only be slower.
 */
bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes);

#endif
