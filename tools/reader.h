/*
 * How is a JSON value read into a struct when nothing in it can be believed?
 *
 * null and what is missing are UNKNOWN, NULL or false; what has a wrong type is complained of.
 */
#ifndef HP_TOOLS_READER_H
#define HP_TOOLS_READER_H

#include "profile.h"

#include <jansson.h>

struct reader {
	struct profile *profile;
	char where[96];  /* the object or list that is read: "sites[3].rows" */
	char wrong[256]; /* what was found first; "": nothing */
};

enum reader_kind { NUMBER, TEXT, FLAG };

struct reader_field {
	const char *name;
	enum reader_kind kind;
	size_t at;
};

/* clang-format off */
/* A field that is named as in the JSON. */
#define NUMBER_OF(type, field) { #field, NUMBER, offsetof(struct type, field) }
#define TEXT_OF(type, field)   { #field, TEXT, offsetof(struct type, field) }
/* clang-format on */

/* "sites[3].rows" is no list: kept as reader->wrong if it is the first. */
void reader_complain(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A whole number from 0 on, or null; a text, or null. */
int64_t reader_number(struct reader *reader, const json_t *value, const char *name);
const char *reader_text(struct reader *reader, const json_t *value, const char *name);

/* These fields of `object` (which may be NULL) into the struct at `to`. */
void reader_fields(struct reader *reader, json_t *object, const struct reader_field *fields,
		   size_t count, void *to);

/* Appends to reader->where; returns what reader_leave() cuts it back to. */
size_t reader_enter(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void reader_leave(struct reader *reader, size_t before);

/* The object `name` of `parent`; NULL where it is null or not there. */
json_t *reader_object(struct reader *reader, json_t *parent, const char *name);

/* reader_fields() of that object. */
void reader_part(struct reader *reader, json_t *parent, const char *name,
		 const struct reader_field *fields, size_t count, void *to);

/*
 * The list `name` of `parent` as `*ret_count` items of `size` bytes in the profile's memory, each
 * made by `item`; NULL where it is null or not there.
 */
void *reader_list(struct reader *reader, json_t *parent, const char *name, size_t size,
		  void (*item)(struct reader *reader, json_t *value, void *to), size_t *ret_count);

/* An item of a list of texts: "" for null. */
void reader_line(struct reader *reader, json_t *value, void *to);

/* Complains where `value` is no object. */
void reader_need_object(struct reader *reader, const json_t *value);

#endif
