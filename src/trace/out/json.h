/*
 * Writes a profile as JSON, by the tables of base/profile.def.  The output is valid for any name:
 * bytes that are not UTF-8 become U+FFFD.
 *
 * For a value inside an array, `name` is NULL.
 */
#ifndef HP_TRACE_OUT_JSON_H
#define HP_TRACE_OUT_JSON_H

#include "base/profile_fields.h"
#include "trace/out/writer.h"

#define JSON_DEPTH_MOST 8

struct report;
struct json;

/* Writes a list of that record whose entries are not in memory, by the functions below. */
struct json_list {
	enum profile_record_id record;
	size_t at; /* offset of the list in the record */
	void (*write)(const struct report *report, struct json *json, const char *name);
};

/* The list `field` of the struct `tag`. */
#define JSON_LIST(tag, field, write)                         \
	{                                                    \
		tag##_id, offsetof(struct tag, field), write \
	}

struct json {
	struct writer *writer;
	const struct report *report;
	const struct json_list *lists;
	size_t list_count;
	unsigned depth;
	bool filled[JSON_DEPTH_MOST + 1]; /* a value was already written at this depth */
};

/* Begins an object or an array by "{" or "[", and ends it by "}" or "]". */
void json_open(struct json *json, const char *name, const char *bracket);
void json_close(struct json *json, const char *bracket);

/* Writes a record. */
void json_record(struct json *json, const char *name, enum profile_record_id id,
		 const void *record);

/* Writes a record that has only numbers as an array on one line. */
void json_row(struct json *json, enum profile_record_id id, const void *record);

/* Write a number, null if it is UNKNOWN; a string; null. */
void json_number(struct json *json, const char *name, int64_t value);
void json_words(struct json *json, const char *name, const char *value);
void json_null(struct json *json, const char *name);

/* Returns the value, or UNKNOWN. */
int64_t json_known(bool known, uint64_t value);

#endif
