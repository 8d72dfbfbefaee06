/*
 * The structs of a profile's records, and the tables of their fields, as profile.def lists them.
 *
 * If null or missing in the file, a number is UNKNOWN, a text NULL and a list NULL; an empty list
 * is not NULL.  Texts are unescaped.
 */
#ifndef HP_BASE_PROFILE_FIELDS_H
#define HP_BASE_PROFILE_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNKNOWN (-1)

struct profile_frames {
	struct profile_frame *items;
	size_t count;
	const struct profile_frame *place; /* by names_apply(): that of a call; NULL: not known */
};

struct profile_entries {
	struct profile_entry *items;
	size_t count;
};

/* clang-format off */
#define RECORD(tag) struct tag {
#define END };
#define NUMBER(name, presence, rule, help) int64_t name;
#define INDEX(name, presence, count, help) int64_t name;
#define TEXT(name, presence, rule, help) const char *name;
#define WORD(name, presence, rule, words, help) const char *name;
#define FLAG(name, presence, rule, help) bool name;
#define PART(name, record, presence, rule, help) struct record name;
#define LIST(name, member, count, record, presence, rule, help) struct record *member; size_t count;
#define SHORT_LIST(name, member, count, record, presence, rule, help) \
	struct record *member; size_t count;
#define ROWS(name, count, record, presence, help) struct record *name; size_t count;
#define TEXTS(name, count, presence, help) const char **name; size_t count;
#define NUMBERS(name, length, presence, help) int64_t name[length];
#define OPTIONS(name, presence, help) struct profile_entries name;
#define COUNTERS(name, presence, help) struct profile_entries name;
#define FRAMES(name, help) struct profile_frames name;
#define PYTHON(name, help) \
	struct profile_frames name; struct profile_source *python; size_t python_count;
#define PLACE(name, help) PYTHON(name, help)
#define UNREAD(name, record, help)
#define OWN(type, name) type name;
#define OLD(name, help)
/* clang-format on */
#include "base/profile.def"

/* The numbers of the records: profile_split_id and so on. */
enum profile_record_id {
#define RECORD(tag) tag##_id,
#include "base/profile.def"
};

enum profile_field_kind {
	FIELD_NUMBER,
	FIELD_INDEX, /* `other` is the offset of the count in struct profile */
	FIELD_TEXT,
	FIELD_FLAG,
	FIELD_PART,
	FIELD_LIST, /* `count` is the offset of the count, here and below */
	FIELD_SHORT_LIST,
	FIELD_ROWS,
	FIELD_TEXTS,
	FIELD_NUMBERS, /* `other` is their number */
	FIELD_OPTIONS,
	FIELD_COUNTERS,
	FIELD_FRAMES,
	FIELD_PYTHON, /* `other` is the offset of the frames */
	FIELD_UNREAD,
	FIELD_OLD,
};

/* As profile.def explains them. */
enum profile_presence { NEEDED, ALWAYS, OR_NULL, ADDED, ADDED_OR_NULL, IF_ANY };
enum profile_rule { NONE, SUM, MOST, FIRST, KEY, EACH, KEYED, JOINED };

/* A text in it needs no relocation, so all processes share the tables. */
struct profile_field {
	char name[28];
	uint8_t kind, presence, rule;
	uint16_t record; /* of a part, and of the entries of a list */
	uint16_t at, count, other;
#ifdef PROFILE_HELP
	const char *help, *words;
#endif
};

struct profile_table {
	const struct profile_field *fields;
	size_t count, size;
};

/* Returns the table of the record `id`, such as profile_split_id. */
struct profile_table profile_table(enum profile_record_id id);

/* Makes all fields of a record unknown. */
void profile_forget(enum profile_record_id id, void *record);

#endif
