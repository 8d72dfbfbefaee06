/*
 * For programs that link the stand-in driver: a context, device memory, and blocks of malloc()
 * memory that are copied until the library pins them.  Without the library the blocks stay ordinary
 * memory.
 */
#ifndef HP_TEST_PRELOAD_PROMOTE_H
#define HP_TEST_PRELOAD_PROMOTE_H

#include "pattern.h"
#include "preload.h"
#include "sizes.h"

#define __CUDA_API_VERSION_INTERNAL
#include "../standin/standin.h"

#include <malloc.h>

extern CUcontext context;
extern CUdeviceptr there; /* 64 MiB */

/* Creates both. */
void begin(void);

/* For TEST_WITH(): copies go through staging memory for any size, and nothing is a block.
 */
#define STAGED "HOTPIN_ROUTE=stage", "HOTPIN_THREADS=3", "HOTPIN_HEAP_MIN=0"

/*
 * True if the device's bytes at `from`, downloaded into memory that is never pinned, are those of
 * `seed`.
 */
bool device_holds(CUdeviceptr from, size_t bytes, unsigned seed);

/* Launches a kernel that does nothing; the stand-in runs it when a call waits for it. */
void launch(CUstream stream);

/* Copies from the block until it is pinned, or for as long as that should take. */
bool heat(const char *block, size_t bytes);

/* Returns a block of seed 1 that is pinned if the library acts. */
char *promoted(size_t bytes);

#endif
