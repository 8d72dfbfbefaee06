/*
 * Reads untrusted JSON into structs.
 *
 * null and missing values become UNKNOWN, NULL or false; a value of a wrong type is an error.
 */
#ifndef HP_TOOLS_READER_H
#define HP_TOOLS_READER_H

#include "profile.h"

#include <jansson.h>

struct reader {
	struct profile *profile;
	char where[96];  /* the object or list that is read: "sites[3].rows" */
	char wrong[256]; /* the first error; "": none */
};

enum reader_kind {
	NUMBER,
	TEXT,
	NAME, /* a text that is "" if it is missing */
	FLAG
};

struct reader_field {
	const char *name;
	enum reader_kind kind;
	size_t at;
};

/* clang-format off */
/* A field that is named as in the JSON. */
#define NUMBER_OF(type, field) { #field, NUMBER, offsetof(struct type, field) }
#define TEXT_OF(type, field)   { #field, TEXT, offsetof(struct type, field) }
#define NAME_OF(type, field)   { #field, NAME, offsetof(struct type, field) }
/* clang-format on */

/* Stores an error such as '"sites[3].rows" is no list' in reader->wrong if it is the first. */
void reader_complain(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Return a non-negative integer, or UNKNOWN for null; a text, or NULL for null. */
int64_t reader_number(struct reader *reader, const json_t *value, const char *name);
const char *reader_text(struct reader *reader, const json_t *value, const char *name);

/* Reads these fields of `object` (which may be NULL) into the struct at `to`. */
void reader_fields(struct reader *reader, json_t *object, const struct reader_field *fields,
		   size_t count, void *to);

/* Appends to reader->where.  Returns the length that reader_leave() restores. */
size_t reader_enter(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void reader_leave(struct reader *reader, size_t before);

/* Returns the object `name` of `parent`; NULL if it is null or missing. */
json_t *reader_object(struct reader *reader, json_t *parent, const char *name);

/* Reads the fields of the object `name` of `parent`, by reader_fields(). */
void reader_part(struct reader *reader, json_t *parent, const char *name,
		 const struct reader_field *fields, size_t count, void *to);

/*
 * Reads the list `name` of `parent` into `*ret_count` items of `size` bytes in the profile's
 * memory; `item` reads each.  Returns NULL if the list is null or missing.
 */
void *reader_list(struct reader *reader, json_t *parent, const char *name, size_t size,
		  void (*item)(struct reader *reader, json_t *value, void *to), size_t *ret_count);

/*
 * As reader_list(), for a list that no run makes long: some commands compare each entry with all
 * others.
 */
#define READER_SHORT_MOST 4096
void *reader_short_list(struct reader *reader, json_t *parent, const char *name, size_t size,
			void (*item)(struct reader *reader, json_t *value, void *to),
			size_t *ret_count);

/* Reads an item of a list of texts; "" for null. */
void reader_line(struct reader *reader, json_t *value, void *to);

/* Stores an error if `value` is no object. */
void reader_need_object(struct reader *reader, const json_t *value);

#endif
