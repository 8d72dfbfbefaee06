/*
 * writer.c - writes by write(2) under a temporary name, then rename(2).
 */
#define _GNU_SOURCE
#include "trace/writer.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int writer_open_memory(struct writer *writer)
{
	writer->used = 0;
	writer->file.fd = -1;
	writer->error = 0;
	writer->temporary = false;
	writer->buffer = hp_arena_alloc(WRITER_BYTES);
	return writer->buffer != NULL ? 0 : -ENOMEM;
}

/* Opens FOLDER/.NAME.hotpin-XXXX next to FOLDER/NAME.  Returns the descriptor or -errno. */
static int open_temporary(struct writer *writer)
{
	const char *slash = strrchr(writer->final_path, '/');
	int folder = slash != NULL ? (int)(slash - writer->final_path) + 1 : 0;
	unsigned now = (unsigned)hp_now_ns();

	for (unsigned attempt = 0; attempt < 64; attempt++) {
		unsigned mark = (now ^ (unsigned)getpid() << 8) + attempt * 40503;

		if ((size_t)snprintf(writer->path, sizeof(writer->path), "%.*s.%s.hotpin-%04x",
				     folder, writer->final_path, writer->final_path + folder,
				     mark & 0xffff) >= sizeof(writer->path))
			return -ENAMETOOLONG;
		int fd = open(writer->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			      0666);
		if (fd >= 0) {
			fd = hp_trust_number(fd);
			if (fd < 0)
				unlink(writer->path);
			return fd;
		}
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

int writer_open(struct writer *writer, const char *path)
{
	struct stat status, target;
	bool shared = false;
	int fd = -1, error = writer_open_memory(writer);

	if (error < 0)
		return error;
	if ((size_t)snprintf(writer->final_path, sizeof(writer->final_path), "%s", path) >=
	    sizeof(writer->final_path)) {
		error = -ENAMETOOLONG;
	} else if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		error = -EISDIR;
	} else if ((error = hp_trust_path(path, &shared)) < 0) {
		/* Another user can change the target of this path. */
	} else if (lstat(path, &status) == 0 && !S_ISREG(status.st_mode) &&
		   (!S_ISLNK(status.st_mode) || (strncmp(path, "/dev/", 5) == 0 && !shared) ||
		    (stat(path, &target) == 0 && !S_ISREG(target.st_mode)))) {
		fd = hp_trust_append(path, false);
	} else {
		fd = open_temporary(writer);
		writer->temporary = fd >= 0;
	}
	if (error == 0)
		error = fd < 0 ? fd : hp_trust_remember(fd, &writer->file);
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
		if (!hp_trust_names(&writer->file)) {
			writer->error = EBADF;
			break;
		}
		ssize_t done = write(writer->file.fd, at, writer->used);

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
		if (length > 0 && writer->file.fd < 0)
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
	if (writer->file.fd >= 0) {
		flush(writer);
		/* If the program has closed the descriptor, the number is the program's. */
		if (hp_trust_names(&writer->file) && close(writer->file.fd) < 0 &&
		    writer->error == 0)
			writer->error = errno;
		if (writer->temporary && writer->error == 0 &&
		    rename(writer->path, writer->final_path) < 0)
			writer->error = errno;
		if (writer->temporary && writer->error != 0)
			unlink(writer->path);
	}
	hp_arena_free(writer->buffer, WRITER_BYTES);
	return -writer->error;
}
