/*
 * Where do the functions of real/io.def go on, and what do they wait for?
 */
#ifndef HP_SHIM_IO_H
#define HP_SHIM_IO_H

#include "shim/frame.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum io_row {
#define IO(name, kind, a, b, c) IO_ROW_##name,
#define SIGNAL(name)            IO_ROW_##name,
#include "real/io.def"
	IO_ROW_COUNT
};

/*
 * Called by io_entry.S: waits for what the call needs, and returns the function to jump to.  In
 * signal handlers too; errno is kept.
 */
void *shim_io_enter(const struct shim_frame *frame);

/* For io_entry.S: sets errno by what the kernel answered, and returns -1. */
long shim_io_failed(long answer);

/* The next definition behind us; one that fails with ENOSYS where there is none. */
void *shim_io_find(enum io_row row);

/*
 * Copies what the kernel would read itself, and would answer EFAULT where it cannot.  False: it
 * will.
 */
bool shim_io_peek(void *to, const void *from, size_t bytes);

/* From here on calls from inside the driver are known as such.  Once the driver has been found. */
void shim_io_know_driver(void);

/* All of them, so that no call has to look. */
void shim_io_find_all(void);

#endif
