/*
 * Reads small files of the kernel.
 *
 * Uses bare system calls, so it may run under a lock and inside malloc(): libc's open() and read()
 * are cancellation points, at which a thread would vanish with its lock held.  Keeps errno.
 */
#ifndef HP_BASE_PROCFILE_H
#define HP_BASE_PROCFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * While `on`, the files that this thread reads stay open for later reads: a file that is opened
 * while the program runs takes the lowest number for an instant, which another thread may expect to
 * get.  One thread at a time.
 */
void hp_procfile_keep(bool on);

/* True between hp_procfile_keep(true) and hp_procfile_keep(false), in this thread. */
bool hp_procfile_keeps(void);

/*
 * From now on, hp_procfile_read() opens no file.  A file that is not kept, or whose descriptor the
 * program has closed, cannot be read.
 */
void hp_procfile_seal(void);

/* Returns the descriptor of a kept file; -1: it is not kept, or the program has closed it. */
int hp_procfile_kept(const char *path);

/*
 * Reads the first room - 1 bytes, as text, of the file whose name is the pieces joined, up to a
 * NULL.  Returns how many they are; 0: there is no such file, it cannot be read, or it is empty.
 */
size_t hp_procfile_read(char *buffer, size_t room, const char *const *pieces);

/* Returns the number that `text` starts with; UINT64_MAX for "max" and for larger numbers. */
uint64_t hp_procfile_number(const char *text);

/*
 * True if Linux of this release, as in /proc/sys/kernel/osrelease, leaves pinned pages in place
 * when the process forks.  Before 5.9 the parent gets new pages when it writes, and a device goes
 * on with the old ones.  Pure.
 */
bool hp_procfile_fork_keeps_pins(const char *release);

/*
 * Returns the text after `name` at the start of a line, without blanks and colon; NULL: no such
 * line.
 */
const char *hp_procfile_field(const char *text, const char *name);

#endif
