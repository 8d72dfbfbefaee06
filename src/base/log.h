/*
 * Messages to the user: one write(2) for each line, to stderr or to HOTPIN_LOG_FILE.
 *
 * Safe inside malloc(), in signal handlers and before main(): these functions neither allocate nor
 * lock nor use a stdio stream, and keep errno.  Rooms below shim/ use hp_debug() only; shim/ and
 * tools/ tell the user once what is lost.
 */
#ifndef HP_BASE_LOG_H
#define HP_BASE_LOG_H

/* The words of HOTPIN_LOG, in its order. */
enum hp_level { HP_ERROR, HP_WARN, HP_INFO, HP_DEBUG };

/* Writes "hotpin[pid] level: text\n", cut at 512 bytes, if HOTPIN_LOG asks for this level. */
void hp_log(enum hp_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Chooses where lines go: `path`, or the present file of stderr if `path` is NULL or "".  Until
 * this is called, lines go to fd 2.  Returns 0, or -errno if `path` cannot be opened; then stderr
 * is used.
 */
int hp_log_open(const char *path);

/*
 * Writes `length` bytes unchanged to where hp_log() writes.  Returns 0 or -errno; -EBADF if the
 * program has opened another file at the number of its stderr.
 */
int hp_log_write(const char *text, unsigned long length);

/* The width of lines for hp_log_write(), in columns; `text` is the value of COLUMNS. */
unsigned hp_log_columns(const char *text);

#define hp_error(...) hp_log(HP_ERROR, __VA_ARGS__)
#define hp_warn(...)  hp_log(HP_WARN, __VA_ARGS__)
#define hp_info(...)  hp_log(HP_INFO, __VA_ARGS__)
#define hp_debug(...) hp_log(HP_DEBUG, __VA_ARGS__)

#endif
