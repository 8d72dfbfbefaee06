/*
 * Says something to the user: one write(2) a line, to stderr or to HOTPIN_LOG_FILE.
 *
 * Safe inside malloc(), in signal handlers and before main(): no allocation, no lock, no stdio
 * stream; errno is what it was.  Rooms below shim/ use hp_debug() only; shim/ and tools/ say once
 * what the user loses.
 */
#ifndef HP_BASE_LOG_H
#define HP_BASE_LOG_H

#include <stdbool.h>

/* The words of HOTPIN_LOG, in its order. */
enum hp_level { HP_ERROR, HP_WARN, HP_INFO, HP_DEBUG };

/* Writes "hotpin[pid] level: text\n", cut at 512 bytes, if HOTPIN_LOG asks for this level. */
void hp_log(enum hp_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Fixes where lines go: the file behind stderr now, or `path` (NULL or "": none).  Until it is
 * called lines go to fd 2.  Returns 0, or -errno where `path` cannot be opened (stderr is used).
 */
int hp_log_open(const char *path);

/*
 * Writes `length` bytes to where hp_log() writes, as they are, however long that takes.  Returns
 * 0, or -EBADF where the program has put another file at the number of its stderr.
 */
int hp_log_write(const char *text, unsigned long length);

#define hp_error(...) hp_log(HP_ERROR, __VA_ARGS__)
#define hp_warn(...)  hp_log(HP_WARN, __VA_ARGS__)
#define hp_info(...)  hp_log(HP_INFO, __VA_ARGS__)
#define hp_debug(...) hp_log(HP_DEBUG, __VA_ARGS__)

/* The same place says it once a process. */
#define hp_warn_once(...)                          \
	do {                                       \
		static _Atomic bool said;          \
		if (!atomic_exchange(&said, true)) \
			hp_warn(__VA_ARGS__);      \
	} while (0)

#endif
