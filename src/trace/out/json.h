/*
 * Writes a profile as JSON.  The output is valid for any name: bytes that are not UTF-8 become
 * U+FFFD.
 *
 * For a value inside an array, `name` is NULL.
 */
#ifndef HP_TRACE_OUT_JSON_H
#define HP_TRACE_OUT_JSON_H

#include "trace/operation.h"
#include "trace/out/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MOST 8

struct json {
	struct writer *writer;
	unsigned depth;
	bool filled[JSON_DEPTH_MOST + 1]; /* a value was already written at this depth */
};

/* Begins an object or an array by "{" or "[", and ends it by "}" or "]". */
void json_open(struct json *json, const char *name, const char *bracket);
void json_close(struct json *json, const char *bracket);

void json_number(struct json *json, const char *name, uint64_t value);
void json_signed(struct json *json, const char *name, int64_t value);

/* Writes the sums {count, bytes, host_ns}. */
void json_flow(struct json *json, const char *name, const struct trace_flow *flow);

/* Writes an array on one line; UINT64_MAX becomes null. */
void json_row(struct json *json, const uint64_t *values, size_t count);

void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

/* Writes null unless `known`. */
void json_known(struct json *json, const char *name, bool known, uint64_t value);

/* Write a string.  For "", which means unknown, json_text() writes null. */
void json_words(struct json *json, const char *name, const char *value);
void json_text(struct json *json, const char *name, const char *value);

#endif
