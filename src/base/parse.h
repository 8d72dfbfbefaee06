/*
 * Reads option values: booleans, words, sizes, counts, texts and file names.
 *
 * These functions neither allocate nor lock, and keep errno: they run before main() of foreign
 * programs.
 */
#ifndef HP_BASE_PARSE_H
#define HP_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HP_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* The size of the longest text option, including its NUL. */
#define HP_TEXT_MAX   512

/* A size or a count that the user set to "auto". */
#define HP_AUTO       UINT64_MAX

typedef bool hp_bool_t;
typedef unsigned hp_word_t;
typedef uint64_t hp_size_t;
typedef uint64_t hp_count_t;
typedef char hp_text_t[HP_TEXT_MAX];

/* The part of the run that is profiled: "" for all, or one of the others, the last with a name. */
typedef char hp_capture_t[HP_TEXT_MAX];
#define HP_CAPTURE_ALL      "all"
#define HP_CAPTURE_PROFILER "profiler-api"
#define HP_CAPTURE_NVTX     "nvtx:"

/* Reads decimal digits; *ret_end is the first byte after them.  False: none, or too large. */
bool hp_parse_digits(const char *text, uint64_t *ret, const char **ret_end);

/*
 * Reads a count of at most nine digits, as variables of the environment hold them.  False: `text`
 * is none, or NULL.
 */
bool hp_parse_short(const char *text, hp_count_t *ret);

/*
 * Each function reads all of `text` into *ret; `accepts` is the column of options.def (| separates
 * words).  Returns 0; or -EINVAL, or -ENAMETOOLONG for a text of HP_TEXT_MAX bytes or more, with
 * *ret unchanged.
 */
int hp_parse_bool(const char *text, const char *accepts, void *ret);
int hp_parse_word(const char *text, const char *accepts, void *ret);
int hp_parse_size(const char *text, const char *accepts, void *ret);
int hp_parse_count(const char *text, const char *accepts, void *ret);
int hp_parse_text(const char *text, const char *accepts, void *ret);
int hp_parse_capture(const char *text, const char *accepts, void *ret);

#define HP_PATH_ANY (-1L)

/* The values of the % marks in a file name. */
struct hp_path_facts {
	long pid; /* HP_PATH_ANY: the result is a pattern of glob() for any process and time */
	const char *host; /* in a pattern, NULL is any host or rank */
	const char *time; /* 20261121-034915 */
	const char *rank; /* "" outside mpirun, srun and torchrun */
};

/*
 * Writes `pattern` to `ret`, with %p, %h, %t and %r replaced and %% as %; any other % stays.  A '/'
 * inside a replacement becomes '_'.  Returns 0 or -ENAMETOOLONG.
 */
int hp_path_expand(const char *pattern, const struct hp_path_facts *facts, char *ret, size_t room);

#endif
