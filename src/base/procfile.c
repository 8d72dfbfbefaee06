/*
 * procfile.c - reads small files by openat(2) and pread(2).
 *
 * The kernel generates such a file as it is read: one read with enough room gets it whole, also
 * from a descriptor that was read before.
 */
#define _GNU_SOURCE
#include "base/procfile.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATH_ROOM   1024

#define KEPT_MOST   48u

/* The size of a new process's table of descriptors, on machines of 64 bits. */
#define TABLE_LEAST ((rlim_t)64)

/* Files that stay open.  One thread at a time appends, any thread reads those that are counted. */
static struct kept {
	uint64_t path; /* a hash */
	struct hp_file file;
} kept[KEPT_MOST];
static _Atomic unsigned kept_count;
static rlim_t least_number; /* of a kept file; 0: none was kept.  One thread at a time */
static __thread bool keeps __attribute__((tls_model("initial-exec")));
static _Atomic bool sealed;

/* Joins the pieces.  False: too long. */
static bool join(char path[PATH_ROOM], const char *const *pieces)
{
	size_t used = 0;

	for (; *pieces != NULL; pieces++) {
		size_t length = strlen(*pieces);

		if (used + length >= PATH_ROOM)
			return false;
		memcpy(path + used, *pieces, length);
		used += length;
	}
	path[used] = '\0';
	return true;
}

/* Returns the kept file; NULL: there is none. */
static const struct kept *find(const char *path)
{
	unsigned count = atomic_load_explicit(&kept_count, memory_order_acquire);
	uint64_t hash = hp_mix_text(0, path);

	for (unsigned i = 0; i < count; i++)
		if (kept[i].path == hash)
			return &kept[i];
	return NULL;
}

/*
 * Returns the least number of kept files: near the end of the table of descriptors as it is, and
 * below the program's limit.  The kernel would grow the table for a higher number; in a process
 * with several threads that takes 10 to 15 ms (expand_fdtable() in Linux's fs/file.c).
 */
static rlim_t find_least_number(void)
{
	const char *const status_of_process[] = { "/proc/self/status", NULL };
	struct rlimit limit = { .rlim_cur = TABLE_LEAST };
	char status[512];
	const char *size = NULL;

	if (hp_procfile_read(status, sizeof(status), status_of_process))
		size = hp_procfile_field(status, "FDSize");
	rlim_t end = size != NULL ? hp_procfile_number(size) : TABLE_LEAST;
	getrlimit(RLIMIT_NOFILE, &limit);
	end = limit.rlim_cur < end ? limit.rlim_cur : end;
	return end > 2 * KEPT_MOST ? end - KEPT_MOST : end / 2;
}

void hp_procfile_keep(bool on)
{
	if (on && least_number == 0)
		least_number = find_least_number();
	keeps = on;
}

bool hp_procfile_keeps(void)
{
	return keeps;
}

/* Keeps the file open at a high number, because programs expect to get the lowest one. */
static void keep(const char *path, int fd)
{
	unsigned count = atomic_load(&kept_count);
	long high = -1;

	if (count < KEPT_MOST)
		high = syscall(SYS_fcntl, fd, (long)F_DUPFD_CLOEXEC, least_number);
	if (high < 0 || hp_trust_remember((int)high, &kept[count].file) < 0)
		return;
	kept[count].path = hp_mix_text(0, path);
	atomic_store_explicit(&kept_count, count + 1, memory_order_release);
}

void hp_procfile_seal(void)
{
	atomic_store(&sealed, true);
}

int hp_procfile_kept(const char *path)
{
	const struct kept *found = find(path);
	int saved = errno, fd = -1;

	if (found != NULL && hp_trust_names(&found->file))
		fd = found->file.fd;
	errno = saved;
	return fd;
}

size_t hp_procfile_read(char *buffer, size_t room, const char *const *pieces)
{
	char path[PATH_ROOM];
	int saved = errno;
	long length = -1;

	if (!join(path, pieces))
		return 0;
	int fd = hp_procfile_kept(path);
	bool opens = fd < 0 && !atomic_load_explicit(&sealed, memory_order_relaxed);
	if (opens)
		fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		length = syscall(SYS_pread64, fd, buffer, room - 1, 0L);
	if (opens && length >= 0 && keeps)
		keep(path, fd);
	if (opens && fd >= 0)
		syscall(SYS_close, fd);
	errno = saved;
	if (length < 0)
		return 0;
	buffer[length] = '\0';
	return (size_t)length;
}

uint64_t hp_procfile_number(const char *text)
{
	uint64_t value;

	return hp_parse_digits(text, &value, &text) ? value : UINT64_MAX;
}

bool hp_procfile_fork_keeps_pins(const char *release)
{
	const char *dot = strchr(release, '.');

	if (dot == NULL || *release < '0' || *release > '9')
		return false;
	uint64_t major = hp_procfile_number(release);
	return major > 5 || (major == 5 && hp_procfile_number(dot + 1) >= 9);
}

const char *hp_procfile_field(const char *text, const char *name)
{
	size_t length = strlen(name);

	for (; text != NULL && *text != '\0'; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (strncmp(text, name, length) == 0 && strchr(": \t", text[length]) != NULL)
			return text[length] != '\0' ? text + length + strspn(text + length, ": \t")
						    : NULL;
	}
	return NULL;
}
