/*
 * reader.c - reads JSON into records, by the tables of their fields.
 *
 * Scalars that are not plain are left to jansson.  Lists are counted before their entries are read.
 */
#include "profile/reader.h"
#include "base/parse.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A profile has ten levels. */
#define DEPTH_MOST 64

void reader_complain(struct reader *reader, const char *format, ...)
{
	size_t used = strlen(reader->field), room = sizeof(reader->wrong);
	va_list args;

	if (reader->wrong[0] != '\0')
		return;
	snprintf(reader->wrong, room, "%s ", reader->field);
	va_start(args, format);
	used += 1 + (size_t)vsnprintf(reader->wrong + used + 1, room - used - 1, format, args);
	va_end(args);
	if (reader->at < reader->end && used < room)
		snprintf(reader->wrong + used, room - used, ", before byte %zu",
			 (size_t)(reader->at - reader->text));
}

/* Stores an error that ends reading. */
static void stop(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void stop(struct reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (reader->wrong[0] == '\0')
		vsnprintf(reader->wrong, sizeof(reader->wrong), format, args);
	va_end(args);
	reader->is_broken = true;
	reader->at = reader->end;
}

/* Ends reading because the text is no JSON at this position. */
static void stop_here(struct reader *reader, const char *why)
{
	int line = 1;

	if (reader->is_broken)
		return;
	for (const char *at = reader->text; at < reader->at; at++)
		line += *at == '\n';
	if (reader->at >= reader->end)
		stop(reader, "it ends early, in line %d: it was cut off; copy or record it again",
		     line);
	else
		stop(reader, "it is not JSON: line %d: %s" PROFILE_NAME_ONE, line, why);
}

void *reader_allocate(struct reader *reader, size_t count, size_t size)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes) ||
	    __builtin_add_overflow(reader->held, bytes + sizeof(max_align_t), &reader->held) ||
	    reader->held > reader->held_most) {
		stop(reader, "it needs more memory than any profile of its size");
		return NULL;
	}
	return profile_allocate(reader->profile, count, size);
}

void reader_note_index(struct reader *reader, size_t count_at, int64_t index)
{
	size_t list = 0;

	while (list < reader->indices && reader->count_of[list] != count_at)
		list++;
	if (list == reader->indices) {
		reader->count_of[reader->indices++] = count_at;
		reader->index[list].most = UNKNOWN;
	}
	if (index <= reader->index[list].most)
		return;
	reader->index[list] = (struct reader_index){ index, reader->field, reader->at };
}

/* Complains of an index that its list does not have. */
static void check_indices(struct reader *reader)
{
	for (size_t i = 0; i < reader->indices; i++) {
		size_t count = *(size_t *)((char *)reader->profile + reader->count_of[i]);

		if (reader->index[i].most < (int64_t)count)
			continue;
		reader->field = reader->index[i].field;
		reader->at = reader->index[i].at;
		reader_complain(reader, "refers to an entry that does not exist");
	}
}

/* Returns the next character that is no space; 0 at the end. */
static char peek(struct reader *reader)
{
	while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
					    *reader->at == '\t' || *reader->at == '\r'))
		reader->at++;
	return reader->at < reader->end ? *reader->at : '\0';
}

/* Moves behind the word if it is next. */
static bool take_word(struct reader *reader, const char *word)
{
	size_t left = (size_t)(reader->end - reader->at), length = strlen(word);

	if (strncmp(reader->at, word, left < length ? left : length) != 0)
		return false;
	reader->at += left < length ? left : length;
	if (left < length)
		stop_here(reader, "");
	return true;
}

/* Moves behind a string; returns its first character, after the quote, and its length. */
static const char *take_string(struct reader *reader, size_t *ret_length)
{
	const char *from = ++reader->at;

	*ret_length = 0;
	for (; reader->at < reader->end && *reader->at != '"'; reader->at++) {
		if ((unsigned char)*reader->at < 0x20) {
			stop_here(reader, "a control character in a string");
			return from;
		}
		reader->at += *reader->at == '\\';
	}
	if (reader->at >= reader->end) {
		reader->at = reader->end;
		stop_here(reader, "");
		return from;
	}
	*ret_length = (size_t)(reader->at++ - from);
	return from;
}

/* Returns a scalar by jansson; NULL after an error. */
static json_t *decode(struct reader *reader, const char *from, size_t length)
{
	json_error_t error;
	json_t *value = json_loadb(from, length, JSON_DECODE_ANY, &error);

	if (value == NULL)
		stop_here(reader, error.text);
	return value;
}

static const char *text_of(struct reader *reader, const char *from, size_t length)
{
	char *copy = NULL;
	bool plain = true;

	for (size_t i = 0; i < length && plain; i++)
		plain = from[i] >= 0x20 && from[i] != '\\';
	if (plain) {
		copy = reader_allocate(reader, length + 1, 1);
		return copy != NULL ? memcpy(copy, from, length) : NULL;
	}
	json_t *value = decode(reader, from - 1, length + 2);
	if (value != NULL)
		copy = reader_allocate(reader, json_string_length(value) + 1, 1);
	if (copy != NULL)
		memcpy(copy, json_string_value(value), json_string_length(value));
	json_decref(value);
	return copy;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_of_number(char c)
{
	return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

/* Moves behind a number; -1: it is negative, or too large to be a figure. */
static int64_t take_number(struct reader *reader)
{
	const char *from = reader->at, *to = from;
	int64_t number = 0;

	for (; to < reader->end && to < from + 18 && is_digit(*to); to++)
		number = number * 10 + (*to - '0');
	bool is_plain = to > from && (*from != '0' || to == from + 1);
	if (is_plain && (to == reader->end || !is_of_number(*to))) {
		reader->at = to;
		return number;
	}
	while (to < reader->end && is_of_number(*to))
		to++;
	json_t *value = decode(reader, from, (size_t)(to - from));
	number = UNKNOWN;
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		number = json_integer_value(value);
	else if (json_is_real(value) && json_real_value(value) >= 0 &&
		 json_real_value(value) < 0x1p63)
		number = (int64_t)json_real_value(value);
	json_decref(value);
	if (!reader->is_broken)
		reader->at = to;
	return number;
}

static bool begins_number(char c)
{
	return c == '-' || is_digit(c);
}

/* True if there is another value before `close`; moves behind the comma, or behind `close`. */
static bool has_next(struct reader *reader, char close, bool *begun)
{
	char c = peek(reader);

	if (c == close) {
		reader->at++;
		return false;
	}
	if (*begun && c != ',')
		stop_here(reader, "a comma or a bracket is missing");
	else if (*begun)
		reader->at++;
	*begun = true;
	return !reader->is_broken;
}

/* Moves behind the key and its colon; returns the key, which is not decoded. */
static const char *take_key(struct reader *reader, size_t *ret_length)
{
	const char *key = "";

	*ret_length = 0;
	if (peek(reader) != '"')
		stop_here(reader, "a key is missing");
	else
		key = take_string(reader, ret_length);
	if (peek(reader) != ':')
		stop_here(reader, "a colon is missing");
	else
		reader->at++;
	return key;
}

/* Moves behind any value. */
static void skip(struct reader *reader, unsigned depth)
{
	char c = peek(reader);
	bool begun = false;
	size_t length;

	if (depth == DEPTH_MOST) {
		stop_here(reader, "its depth is too large");
	} else if (c == '{' || c == '[') {
		reader->at++;
		while (has_next(reader, c == '{' ? '}' : ']', &begun)) {
			if (c == '{')
				take_key(reader, &length);
			skip(reader, depth + 1);
		}
	} else if (c == '"') {
		take_string(reader, &length);
	} else if (begins_number(c)) {
		take_number(reader);
	} else if (!take_word(reader, "null") && !take_word(reader, "true") &&
		   !take_word(reader, "false")) {
		stop_here(reader, "a value is missing");
	}
}

/* Moves behind null, or behind a value that is an error; `what` it should be. */
static void take_other(struct reader *reader, const char *what)
{
	peek(reader);
	if (take_word(reader, "null"))
		return;
	skip(reader, 0);
	reader_complain(reader, "must be %s", what);
}

static int64_t read_number(struct reader *reader)
{
	char c = peek(reader);

	if (!begins_number(c)) {
		take_other(reader, "a non-negative number");
		return UNKNOWN;
	}
	int64_t number = take_number(reader);
	if (number == UNKNOWN)
		reader_complain(reader, "must be a non-negative number");
	return number;
}

static const char *read_text(struct reader *reader)
{
	size_t length;

	if (peek(reader) != '"') {
		take_other(reader, "a string");
		return NULL;
	}
	const char *from = take_string(reader, &length);
	return reader->is_broken ? NULL : text_of(reader, from, length);
}

static bool read_flag(struct reader *reader)
{
	peek(reader);
	if (take_word(reader, "true"))
		return true;
	if (!take_word(reader, "false"))
		take_other(reader, "true or false");
	return false;
}

/* Moves into an object or a list; false: it is null or something else. */
static bool enter(struct reader *reader, char open)
{
	if (peek(reader) == open) {
		reader->at++;
		return true;
	}
	take_other(reader, open == '{' ? "an object" : "a list");
	return false;
}

/* Returns the number of values before `close`, without moving. */
static size_t count_values(struct reader *reader, char close)
{
	const char *from = reader->at;
	bool begun = false;
	size_t count = 0, length;

	for (; has_next(reader, close, &begun); count++) {
		if (close == '}')
			take_key(reader, &length);
		skip(reader, 0);
	}
	if (!reader->is_broken)
		reader->at = from;
	return count;
}

/* Moves into a list, and returns room for its entries; NULL: there is none. */
static void *enter_list(struct reader *reader, char open, size_t size, bool is_short,
			size_t *ret_count)
{
	*ret_count = 0;
	if (!enter(reader, open))
		return NULL;
	size_t count = count_values(reader, open == '{' ? '}' : ']');
	if (is_short && count > READER_SHORT_MOST) {
		reader_complain(reader, "has more than %d entries", READER_SHORT_MOST);
		stop(reader, "%s", "");
	}
	void *items = reader->is_broken ? NULL : reader_allocate(reader, count, size);
	*ret_count = items != NULL ? count : 0;
	return items;
}

static void read_record(struct reader *reader, enum profile_record_id id, void *to);

static char *read_list(struct reader *reader, enum profile_record_id id, bool is_short,
		       size_t *ret_count)
{
	size_t size = profile_table(id).size;
	char *items = enter_list(reader, '[', size, is_short, ret_count);
	bool begun = false;

	for (char *item = items; item != NULL && has_next(reader, ']', &begun); item += size) {
		if (peek(reader) != '{')
			reader_complain(reader, "must be an object");
		read_record(reader, id, item);
	}
	return items;
}

static const char **read_texts(struct reader *reader, size_t *ret_count)
{
	const char **items = enter_list(reader, '[', sizeof(*items), false, ret_count);
	bool begun = false;

	for (size_t i = 0; items != NULL && has_next(reader, ']', &begun); i++) {
		items[i] = read_text(reader);
		if (items[i] == NULL)
			items[i] = "";
	}
	return items;
}

static struct profile_entry *read_entries(struct reader *reader, bool texts, size_t *ret_count)
{
	struct profile_entry *items = enter_list(reader, '{', sizeof(*items), true, ret_count);
	bool begun = false;
	size_t length;

	for (size_t i = 0; items != NULL && has_next(reader, '}', &begun); i++) {
		const char *key = take_key(reader, &length);

		items[i].name = reader->is_broken ? NULL : text_of(reader, key, length);
		if (reader->is_broken)
			break;
		if (texts)
			items[i].text = read_text(reader);
		else
			items[i].value = read_number(reader);
	}
	return items;
}

/* Returns the position of each column in the record; SIZE_MAX: not in it.  NULL after an error. */
static size_t *find_columns(struct reader *reader, const struct profile_events *events,
			    const struct profile_table *table)
{
	size_t *columns_at = reader_allocate(reader, events->field_count, sizeof(*columns_at));
	uint64_t found = 0;

	if (columns_at == NULL)
		return NULL;
	for (size_t i = 0; i < events->field_count; i++) {
		size_t column = 0;

		while (column < table->count &&
		       strcmp(table->fields[column].name, events->fields[i]) != 0)
			column++;
		columns_at[i] = column < table->count ? column : SIZE_MAX;
		found |= column < table->count ? UINT64_C(1) << column : 0;
	}
	for (size_t i = 0; i < table->count; i++)
		if (!(found >> i & 1) && table->fields[i].presence == OR_NULL)
			reader_complain(reader, "has no field '%s'", table->fields[i].name);
	return columns_at;
}

/* Reads a row of `count` numbers.  `columns_at`: as find_columns(), NULL: each is at its position.
 */
static void read_row(struct reader *reader, const size_t *columns_at, size_t count, int64_t *ret)
{
	bool begun = false;
	size_t i = 0;

	if (!enter(reader, '['))
		return;
	for (; has_next(reader, ']', &begun); i++) {
		int64_t number = read_number(reader);

		if (i < count && (columns_at == NULL || columns_at[i] != SIZE_MAX))
			ret[columns_at != NULL ? columns_at[i] : i] = number;
	}
	if (i < count)
		reader_complain(reader, "has too few numbers");
}

/* The events have the order of their columns; it must come before the rows. */
static char *read_rows(struct reader *reader, enum profile_record_id id, const void *parent,
		       size_t *ret_count)
{
	const struct profile_table table = profile_table(id);
	size_t columns = table.size / sizeof(int64_t);
	const size_t *columns_at = NULL;
	bool begun = false;

	if (id == profile_event_id) {
		columns_at = find_columns(reader, parent, &table);
		columns = ((const struct profile_events *)parent)->field_count;
	}
	char *items = enter_list(reader, '[', table.size, false, ret_count);
	for (char *item = items; items != NULL && has_next(reader, ']', &begun);
	     item += table.size) {
		profile_forget(id, item);
		read_row(reader, columns_at, columns, (int64_t *)item);
		for (size_t i = 0; i < table.count; i++)
			if (table.fields[i].kind == FIELD_INDEX)
				reader_note_index(reader, table.fields[i].other,
						  *(int64_t *)(item + table.fields[i].at));
		profile_check(reader, id, item);
	}
	return items;
}

static void read_field(struct reader *reader, const struct profile_field *field, char *to)
{
	void *at = to + field->at;
	size_t *count = (size_t *)(to + field->count);

	switch ((enum profile_field_kind)field->kind) {
	case FIELD_NUMBER:
		*(int64_t *)at = read_number(reader);
		break;
	case FIELD_INDEX:
		*(int64_t *)at = read_number(reader);
		reader_note_index(reader, field->other, *(int64_t *)at);
		break;
	case FIELD_TEXT:
		*(const char **)at = read_text(reader);
		break;
	case FIELD_FLAG:
		*(bool *)at = read_flag(reader);
		break;
	case FIELD_PART:
		read_record(reader, field->record, at);
		break;
	case FIELD_LIST:
	case FIELD_SHORT_LIST:
	case FIELD_FRAMES:
	case FIELD_PYTHON:
		*(char **)at =
			read_list(reader, field->record, field->kind == FIELD_SHORT_LIST, count);
		break;
	case FIELD_ROWS:
		*(char **)at = read_rows(reader, field->record, to, count);
		break;
	case FIELD_TEXTS:
		*(const char ***)at = read_texts(reader, count);
		break;
	case FIELD_NUMBERS:
		read_row(reader, NULL, field->other, at);
		break;
	case FIELD_OPTIONS:
	case FIELD_COUNTERS:
		*(struct profile_entry **)at =
			read_entries(reader, field->kind == FIELD_OPTIONS, count);
		break;
	case FIELD_UNREAD:
	case FIELD_OLD:
		skip(reader, 0);
	}
}

/* Returns the field that is next in the text; NULL: the table has none of this name. */
static const struct profile_field *take_field(struct reader *reader,
					      const struct profile_table *table)
{
	size_t length;
	const char *key = take_key(reader, &length);

	for (const struct profile_field *field = table->fields;
	     field < table->fields + table->count; field++)
		if (strlen(field->name) == length && memcmp(field->name, key, length) == 0)
			return field;
	return NULL;
}

static void complain_of_missing(struct reader *reader, const struct profile_table *table,
				const char *record)
{
	for (const struct profile_field *field = table->fields;
	     field < table->fields + table->count; field++) {
		const char *at = record + field->at;

		if (field->presence != NEEDED ||
		    (field->kind == FIELD_TEXT ? *(const char *const *)at != NULL
					       : *(const int64_t *)at != UNKNOWN))
			continue;
		reader_complain(reader, "lacks %s", field->name);
	}
}

static void read_record(struct reader *reader, enum profile_record_id id, void *to)
{
	const struct profile_table table = profile_table(id);
	const char *outer = reader->field;
	uint64_t seen = 0;
	bool begun = false;

	profile_forget(id, to);
	if (!enter(reader, '{'))
		return;
	while (has_next(reader, '}', &begun)) {
		const struct profile_field *field = take_field(reader, &table);

		if (field == NULL) {
			skip(reader, 0);
			continue;
		}
		uint64_t bit = UINT64_C(1) << (field - table.fields);
		if (seen & bit)
			stop_here(reader, "duplicate object key");
		seen |= bit;
		reader->field = field->name;
		read_field(reader, field, to);
		reader->field = outer;
	}
	complain_of_missing(reader, &table, to);
	profile_check(reader, id, to);
}

void reader_read(struct reader *reader, enum profile_record_id id, void *to)
{
	reader->field = "the file";
	read_record(reader, id, to);
	peek(reader);
	if (!reader->is_broken && reader->at < reader->end)
		stop_here(reader, "end of file expected");
	check_indices(reader);
}
