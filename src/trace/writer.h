/*
 * Text into a buffer of ours and from there into a file, without stdio's streams.
 *
 * A file is written under another name next to the final one and renamed when it is whole: nobody
 * ever sees a part of it.
 */
#ifndef HP_TRACE_WRITER_H
#define HP_TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WRITER_BYTES    ((size_t)16 << 10)
#define WRITER_PATH_MAX 4096

struct writer {
	char *buffer; /* WRITER_BYTES */
	size_t used;
	int fd;         /* -1: memory only, what does not fit is left out */
	int error;      /* the first, as errno has it; later output goes nowhere */
	bool temporary; /* `path` stands for `final_path` until it is whole */
	char final_path[WRITER_PATH_MAX], path[WRITER_PATH_MAX];
};

/* A writer to memory.  0 or -ENOMEM. */
int writer_open_memory(struct writer *writer);

/*
 * A writer to the file `path`.  A path that is there and no regular file (a pipe, /dev/stdout) is
 * written to as it is.  0, or -errno of what the system refused.
 */
int writer_open(struct writer *writer, const char *path);

void writer_put(struct writer *writer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void writer_bytes(struct writer *writer, const char *bytes, size_t length);

/* Bytes that went into files, by all writers so far: while it grows, no file system has stalled. */
uint64_t writer_progress(void);

/*
 * Flushes and puts the file in its place; on any error before that removes it.  Gives back the
 * memory.  0 or -errno.
 */
int writer_close(struct writer *writer);

#endif
