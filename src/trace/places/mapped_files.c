/*
 * mapped_files.c - a table of the mappings that the exported mmap() has made.
 *
 * A signal handler may map a file, too, to read symbols for instance.  If it interrupts a thread
 * with a lock of ours, nothing is noted.
 */
#define _GNU_SOURCE
#include "trace/places/mapped_files.h"
#include "base/hash.h"
#include "base/lock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct mapped_file files[MAPPED_FILES_MOST]; /* under the lock trace */
static _Atomic size_t count;                        /* changes under the lock trace */

/* Devices, shared memory and files without a name tell the reader nothing. */
static bool has_name(const char *path)
{
	static const char gone[] = " (deleted)";
	size_t length = strlen(path);

	return path[0] == '/' && strncmp(path, "/dev/", 5) != 0 &&
	       (length < sizeof(gone) || strcmp(path + length + 1 - sizeof(gone), gone) != 0);
}

void mapped_files_note(const void *address, size_t bytes, int fd)
{
	char link[48], path[1024];
	int saved = errno;

	if (hp_locks_are_held())
		return;
	mapped_files_forget(address, bytes);
	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	long length = syscall(SYS_readlink, link, path, sizeof(path));
	errno = saved;
	/* A path without room for its end would have another name. */
	if (length <= 0 || (size_t)length == sizeof(path))
		return;
	path[length] = '\0';
	if (!has_name(path))
		return;

	struct mapped_file file = { .from = (uintptr_t)address,
				    .to = (uintptr_t)address + bytes,
				    .path = hp_mix_text(0, path) };
	snprintf(file.name, sizeof(file.name), "%s", strrchr(path, '/') + 1);
	hp_lock(HP_LOCK_trace);
	if (count < MAPPED_FILES_MOST)
		files[count++] = file;
	hp_unlock(HP_LOCK_trace);
}

void mapped_files_forget(const void *address, size_t bytes)
{
	uintptr_t from = (uintptr_t)address, to = from + bytes;

	if (atomic_load_explicit(&count, memory_order_relaxed) == 0 || hp_locks_are_held())
		return;
	hp_lock(HP_LOCK_trace);
	for (size_t i = count; i-- > 0;)
		if (files[i].from < to && from < files[i].to)
			files[i] = files[--count];
	hp_unlock(HP_LOCK_trace);
}

const struct mapped_file *mapped_files_at(const void *address)
{
	for (size_t i = 0; i < count; i++)
		if ((uintptr_t)address >= files[i].from && (uintptr_t)address < files[i].to)
			return &files[i];
	return NULL;
}
