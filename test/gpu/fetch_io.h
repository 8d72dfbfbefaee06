/*
 * What the kernel is handed of a copy's destination before its data is there (HOTPIN_ASYNC=all).
 *
 * It would answer EFAULT: every call of libc that names memory has to wait first.  A program of
 * hazards.c; the device is busy for WORK_MS before it comes to each copy, which natively has waited
 * for that.
 */
#ifndef HP_TEST_GPU_FETCH_IO_H
#define HP_TEST_GPU_FETCH_IO_H

#include "hazards.h"

#define WORK_MS 3

/* A pinned block of BYTES, of a site whose data was looked at late so far. */
char *learned(void);

/* The device's bytes become `source`. */
void give(const char *source);

/* What the device has goes into the block, and is not there yet when this returns. */
void fetch(char *block);

/* How many of these had their bytes on the way as they should, under the library and without. */
void tell_fetches(void);

/* Every call, with the bytes on their way into the block. */
void call_all(char *block);

#endif
