/*
 * writer.c - collects text, and writes it by write(2).
 */
#define _GNU_SOURCE
#include "trace/out/writer.h"
#include "base/arena.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int writer_open_memory(struct writer *writer)
{
	writer->used = 0;
	writer->save.file.fd = -1;
	writer->error = 0;
	writer->buffer = hp_arena_alloc(WRITER_BYTES);
	return writer->buffer != NULL ? 0 : -ENOMEM;
}

int writer_open(struct writer *writer, const char *path)
{
	int error = writer_open_memory(writer);

	if (error < 0)
		return error;
	error = hp_save_open(&writer->save, path, 0666, 0);
	if (error < 0)
		hp_arena_free(writer->buffer, WRITER_BYTES);
	return error;
}

static _Atomic uint64_t written;

uint64_t writer_progress(void)
{
	return atomic_load_explicit(&written, memory_order_relaxed);
}

static void flush(struct writer *writer)
{
	const char *at = writer->buffer;

	while (writer->error == 0 && writer->used > 0) {
		if (!hp_trust_names(&writer->save.file)) {
			writer->error = EBADF;
			break;
		}
		ssize_t done = write(writer->save.file.fd, at, writer->used);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0) {
			writer->error = done < 0 ? errno : ENOSPC;
			break;
		}
		atomic_fetch_add_explicit(&written, (uint64_t)done, memory_order_relaxed);
		at += done;
		writer->used -= (size_t)done;
	}
	writer->used = 0;
}

void writer_bytes(struct writer *writer, const char *bytes, size_t length)
{
	while (length > 0 && writer->error == 0) {
		size_t room = WRITER_BYTES - writer->used;
		size_t piece = length < room ? length : room;

		memcpy(writer->buffer + writer->used, bytes, piece);
		writer->used += piece;
		bytes += piece;
		length -= piece;
		if (length > 0 && writer->save.file.fd < 0)
			writer->error = ENOSPC;
		else if (length > 0)
			flush(writer);
	}
}

void writer_put(struct writer *writer, const char *format, ...)
{
	char piece[1024];
	va_list args;

	va_start(args, format);
	int length = vsnprintf(piece, sizeof(piece), format, args);
	va_end(args);
	if (length > 0)
		writer_bytes(writer, piece,
			     (size_t)length < sizeof(piece) ? (size_t)length : sizeof(piece) - 1);
}

int writer_close(struct writer *writer)
{
	int error = -writer->error;

	if (writer->save.file.fd >= 0) {
		flush(writer);
		error = hp_save_close(&writer->save, -writer->error);
	}
	hp_arena_free(writer->buffer, WRITER_BYTES);
	return error;
}
