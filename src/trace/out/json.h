/*
 * Writes a profile as JSON, by the tables of base/profile.def.  The output is valid for any name:
 * bytes that are not UTF-8 become U+FFFD.
 */
#ifndef HP_TRACE_OUT_JSON_H
#define HP_TRACE_OUT_JSON_H

#include "base/profile_fields.h"
#include "trace/out/writer.h"

#define JSON_DEPTH_MOST 8

/* In place of a number. */
#define LEFT_OUT        (-2) /* this record has no such number */
#define SO_FAR          (-3) /* the time since struct json's since_ns, when this is written */

struct report;

/* In place of an entry: the first says that null is written in place of the list; after the last.
 */
extern const char json_marks[2];
#define JSON_UNKNOWN ((const void *)&json_marks[0])
#define JSON_END     ((const void *)&json_marks[1])

/* A list of that record whose entries are not in memory. */
struct json_list {
	enum profile_record_id record;
	size_t at; /* offset of the list in the record */
	/* Returns an entry, which stays valid until the next call; NULL: it is left out. */
	const void *(*entry)(const struct report *report, size_t index);
};

/* The list `field` of the struct `tag`. */
#define JSON_LIST(tag, field, entry)                          \
	{                                                     \
		tag##_id, offsetof(struct tag, field), entry, \
	}

struct json {
	struct writer *writer;
	const struct report *report;
	uint64_t since_ns;                    /* for SO_FAR */
	const struct json_list *const *lists; /* tables, each ended by zeros; NULL ends them */
	unsigned depth;
	bool filled[JSON_DEPTH_MOST + 1]; /* a value was already written at this depth */
};

/* Writes a record; inside an array, `name` is NULL. */
void json_record(struct json *json, const char *name, enum profile_record_id id,
		 const void *record);

/* Returns the value, or UNKNOWN. */
int64_t json_known(bool known, uint64_t value);

#endif
