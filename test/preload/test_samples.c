/*
 * test_samples.c - random copies (copies.h) by every driver function, of every kind of memory,
 * after every kind of work, under the options that choose routes.
 */
#include "copies.h"

#define KIND(name)   (1u << COPY_##name)
#define UNKNOWN      (KIND(STATIC) | KIND(STACK) | KIND(MAPPED) | KIND(FILE))
#define BLOCKS       (KIND(HOT) | KIND(COLD) | UNKNOWN)
#define BORDERS      (KIND(LEAVING) | KIND(ENTERING) | KIND(ACROSS) | KIND(BETWEEN))
#define PINNED       (KIND(REGISTERED) | KIND(ALLOCATED))
/* Other kinds make device work host-visible, so no upload returns early. */
#define UNSEEN       (1u << COPY_IDLE | 1u << COPY_BUSY)
#define TURNS        300

#define ALL_OF(word) .turns = TURNS, .seed = word, .memories = BLOCKS | BORDERS

SAMPLE_WITH(blocks, ("HOTPIN_THREADS=2"), .turns = TURNS, .seed = 1, .memories = BLOCKS,
	    .works = UNSEEN)
SAMPLE_WITH(borders, ("HOTPIN_THREADS=2"), .turns = TURNS, .seed = 2, .memories = BORDERS,
	    .works = UNSEEN)
SAMPLE_WITH(blocks_behind_kernels, ("HOTPIN_THREADS=2"), .turns = TURNS, .seed = 3,
	    .memories = BLOCKS)
SAMPLE_WITH(borders_behind_kernels, ("HOTPIN_THREADS=2"), .turns = TURNS, .seed = 4,
	    .memories = BORDERS)
SAMPLE_WITH(next_to_pinned_memory, ("HOTPIN_THREADS=2"), .turns = TURNS, .seed = 5,
	    .memories = PINNED | KIND(HOT) | KIND(COLD))
SAMPLE_WITH(without_a_ring, ("HOTPIN_RING=0"), ALL_OF(6))
SAMPLE_WITH(without_early_copies, ("HOTPIN_ASYNC=0"), ALL_OF(7))
SAMPLE_WITH(without_helpers, ("HOTPIN_THREADS=1"), ALL_OF(8))
/* With so little staging memory an upload may wait for earlier work. */
SAMPLE_WITH(with_a_small_budget, ("HOTPIN_PIN_BUDGET=64M", "HOTPIN_RING=8M"), ALL_OF(9),
	    .works = UNSEEN)
SAMPLE_WITH(with_random_steps, ("STANDIN_STEPS=random:10"), .turns = TURNS, .seed = 10,
	    .memories = BLOCKS, .works = UNSEEN)
SAMPLE_WITH(staged, (STAGED), .turns = TURNS, .seed = 11, .memories = UNKNOWN | KIND(COLD),
	    .works = UNSEEN, .least = { .events = 50 })
/* Boxes also pass through staging memory in runs, if their device side has no gaps. */
SAMPLE_WITH(staged_boxes, (STAGED), .turns = TURNS * 3 / 2, .seed = 14,
	    .memories = UNKNOWN | KIND(COLD), .works = UNSEEN, .calls = COPY_BOXES,
	    .least = { .events = 25, .uploads = 50, .downloads = 25 })
SAMPLE_WITH(staged_behind_kernels, (STAGED), .turns = TURNS, .seed = 12,
	    .memories = UNKNOWN | KIND(COLD))
/* The driver's own call repeats copies that are refused half way. */
SAMPLE_WITH(staged_and_given_up,
	    (STAGED, "STANDIN_FAIL=cuMemcpy2DAsync:2,cuMemcpy3DAsync:2,cuEventRecord:9"),
	    .turns = TURNS, .seed = 13, .memories = UNKNOWN | KIND(COLD), .works = UNSEEN,
	    .calls = "cuMemcpy2D_v2* cuMemcpy2DUnaligned* cuMemcpy3D_v2* cuMemcpy3DPeer "
		     "cuMemcpy3DPeer_ptds")

PRELOAD_MAIN()
