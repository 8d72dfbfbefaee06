/*
 * Writes text into a buffer of ours, and from there into a file, without stdio's streams.
 *
 * If the program closes the descriptor meanwhile, writing fails.
 */
#ifndef HP_TRACE_OUT_WRITER_H
#define HP_TRACE_OUT_WRITER_H

#include "base/save.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITER_BYTES    ((size_t)16 << 10)
#define WRITER_PATH_MAX 4096

struct writer {
	char *buffer; /* WRITER_BYTES */
	size_t used;
	struct hp_save save; /* fd -1: memory only; text that does not fit is left out */
	int error;           /* the first error, as in errno; later output is dropped */
};

/* Opens a writer to memory.  Returns 0 or -ENOMEM. */
int writer_open_memory(struct writer *writer);

/*
 * Opens a writer to the file `path`, which must stay valid until it is closed.  Returns as
 * hp_save_open().
 */
int writer_open(struct writer *writer, const char *path);

/* Append text; writer_put() cuts it at 1023 bytes.  After an error both do nothing. */
void writer_put(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void writer_bytes(struct writer *writer, const char *bytes, size_t length);

/*
 * Returns the bytes that all writers have written to files so far.  While the number grows, no file
 * system has stalled.
 */
uint64_t writer_progress(void);

/* Flushes and ends the file as hp_save_close(), and frees the memory.  Returns 0 or -errno. */
int writer_close(struct writer *writer);

#endif
