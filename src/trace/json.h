/*
 * How is a profile written as JSON?  Valid for any name: what is not UTF-8 becomes U+FFFD.
 *
 * A value inside an array has the name NULL.
 */
#ifndef HP_TRACE_JSON_H
#define HP_TRACE_JSON_H

#include "trace/operation.h"
#include "trace/window.h"
#include "trace/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MOST 8

struct json {
	struct writer *writer;
	struct window *window; /* NULL: of the whole run */
	unsigned depth;
	unsigned list;                       /* the depth inside the outermost array; 0: in none */
	bool filled[JSON_DEPTH_MOST + 1];    /* something stands at this depth already */
	uint64_t known[JSON_DEPTH_MOST + 1]; /* with a window: what each sum there is known by */
};

void json_open(struct json *json, const char *name, const char *bracket);
void json_close(struct json *json, const char *bracket);

void json_number(struct json *json, const char *name, uint64_t value);
void json_signed(struct json *json, const char *name, int64_t value);

/*
 * What grows while the program runs: with a window, what it has grown by.  It is known by its name,
 * by those of the objects around it and, in an array, by the texts before it in its row and by what
 * json_tell_apart() was told there.  null unless `known`.
 */
void json_sum(struct json *json, const char *name, uint64_t value);
void json_sum_known(struct json *json, const char *name, bool known, uint64_t value);
void json_tell_apart(struct json *json, uint64_t value);

/* The largest of some: with a window, null where it may have been before that began. */
void json_most(struct json *json, const char *name, uint64_t value);

/* {count, bytes, host_ns}, sums. */
void json_flow(struct json *json, const char *name, const struct trace_flow *flow);

/* An array on one line; UINT64_MAX is null. */
void json_row(struct json *json, const uint64_t *values, size_t count);

void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

/* null unless `known`. */
void json_known(struct json *json, const char *name, bool known, uint64_t value);

/* A string; json_text() takes "" for unknown and writes null. */
void json_words(struct json *json, const char *name, const char *value);
void json_text(struct json *json, const char *name, const char *value);

#endif
