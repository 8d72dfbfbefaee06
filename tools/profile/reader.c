/*
 * reader.c - reads JSON into records, by the tables of their fields.
 *
 * Scalars but plain numbers are left to jansson.  Lists are counted before their entries are read.
 */
#include "profile/reader.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A profile has ten levels. */
#define DEPTH_MOST 64

void reader_complain(struct reader *reader, const char *format, ...)
{
	va_list args;

	if (reader->wrong != NULL)
		return;
	va_start(args, format);
	reader->wrong = text_made("%s %s%s", reader->field, text_of(format, args),
				  text_if(reader->at < reader->end, ", before byte %zu",
					  (size_t)(reader->at - reader->text)));
	va_end(args);
}

/* Stores an error that ends reading. */
static void stop(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void stop(struct reader *reader, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (reader->wrong == NULL)
		reader->wrong = text_of(format, args);
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

/* Returns the scalar that is next, and moves behind it; NULL after an error. */
static json_t *take(struct reader *reader)
{
	json_error_t error;
	json_t *value = json_loadb(reader->at, (size_t)(reader->end - reader->at),
				   JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, &error);

	reader->at += error.position;
	if (value == NULL)
		stop_here(reader, error.text);
	return value;
}

/* Takes digits or null, as nearly all values are.  False: something else is next. */
static bool take_plain(struct reader *reader, int64_t *ret)
{
	const char *from = reader->at, *to = from;
	int64_t number = 0;

	if (reader->end - from > 4 && memcmp(from, "null", 4) == 0) {
		reader->at += 4;
		*ret = UNKNOWN;
		return true;
	}
	for (; to < reader->end && to < from + 18 && *to >= '0' && *to <= '9'; to++)
		number = number * 10 + (*to - '0');
	if (to == from || to == reader->end || (*from == '0' && to > from + 1) ||
	    (*to != ',' && *to != ']' && *to != '}'))
		return false;
	reader->at = to;
	*ret = number;
	return true;
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

static void take_colon(struct reader *reader)
{
	if (peek(reader) != ':')
		stop_here(reader, "a colon is missing");
	else
		reader->at++;
}

/* Moves behind the key and its colon; returns the key, which is not decoded. */
static const char *take_key(struct reader *reader, size_t *ret_length)
{
	bool is_key = peek(reader) == '"';
	const char *key = reader->at + 1, *end = key;

	while (is_key && end < reader->end && *end != '"')
		end += 1 + (*end == '\\');
	*ret_length = is_key && end < reader->end ? (size_t)(end - key) : 0;
	if (!is_key) {
		stop_here(reader, "a key is missing");
		return "";
	}
	reader->at = end < reader->end ? end + 1 : reader->end;
	take_colon(reader);
	return key;
}

/* Moves behind any value. */
static void skip(struct reader *reader, unsigned depth)
{
	char c = peek(reader);
	bool begun = false;
	int64_t number;
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
	} else if (!take_plain(reader, &number)) {
		json_decref(take(reader));
	}
}

/* Moves behind any value.  Returns it if it is a scalar; NULL: it is none, or after an error. */
static json_t *take_scalar(struct reader *reader)
{
	char c = peek(reader);

	if (c != '{' && c != '[')
		return take(reader);
	skip(reader, 0);
	return NULL;
}

/* Frees the value, which must be null or `what` it should be. */
static void release(struct reader *reader, json_t *value, bool is_right, const char *what)
{
	if (!is_right && !json_is_null(value))
		reader_complain(reader, "must be %s", what);
	json_decref(value);
}

static int64_t read_number(struct reader *reader)
{
	int64_t number = UNKNOWN;

	peek(reader);
	if (take_plain(reader, &number))
		return number;
	json_t *value = take_scalar(reader);
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		number = json_integer_value(value);
	else if (json_is_real(value) && json_real_value(value) >= 0 &&
		 json_real_value(value) < 0x1p63)
		number = (int64_t)json_real_value(value);
	release(reader, value, number != UNKNOWN, "a non-negative number");
	return number;
}

static const char *read_text(struct reader *reader)
{
	json_t *value = take_scalar(reader);
	char *text = NULL;

	if (json_is_string(value))
		text = reader_allocate(reader, json_string_length(value) + 1, 1);
	if (text != NULL)
		strcpy(text, json_string_value(value));
	release(reader, value, json_is_string(value), "a string");
	return text;
}

static bool read_flag(struct reader *reader)
{
	json_t *value = take_scalar(reader);
	bool flag = json_is_true(value);

	release(reader, value, json_is_boolean(value), "true or false");
	return flag;
}

/* Moves into an object or a list; false: it is null or something else. */
static bool enter(struct reader *reader, char open)
{
	if (peek(reader) == open) {
		reader->at++;
		return true;
	}
	release(reader, take_scalar(reader), false, open == '{' ? "an object" : "a list");
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

static void read_record(struct reader *reader, enum profile_record_id id, void *to);

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

/* Reads numbers in the order of `columns_at`; without it, each is at its position. */
static void read_numbers(struct reader *reader, const size_t *columns_at, size_t count,
			 int64_t *ret)
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

/* A list that is read.  Its entries have the order of its columns if there are any. */
struct list {
	const struct profile_field *field;
	const size_t *columns_at;
	size_t columns;
};

static void read_row(struct reader *reader, const struct list *list, char *row)
{
	const struct profile_table table = profile_table(list->field->record);

	profile_forget(list->field->record, row);
	read_numbers(reader, list->columns_at, list->columns, (int64_t *)row);
	for (size_t i = 0; i < table.count; i++)
		if (table.fields[i].kind == FIELD_INDEX)
			reader_note_index(reader, table.fields[i].other,
					  *(int64_t *)(row + table.fields[i].at));
	profile_check(reader, list->field->record, row);
}

static void read_entry(struct reader *reader, const struct list *list, char *item)
{
	struct profile_entry *entry = (struct profile_entry *)item;

	switch ((enum profile_field_kind)list->field->kind) {
	case FIELD_ROWS:
		read_row(reader, list, item);
		break;
	case FIELD_TEXTS:
		*(const char **)item = read_text(reader);
		if (*(const char **)item == NULL)
			*(const char **)item = "";
		break;
	case FIELD_OPTIONS:
	case FIELD_COUNTERS:
		entry->name = read_text(reader);
		take_colon(reader);
		if (list->field->kind == FIELD_OPTIONS)
			entry->text = read_text(reader);
		else
			entry->value = read_number(reader);
		break;
	default:
		if (peek(reader) != '{')
			reader_complain(reader, "must be an object");
		read_record(reader, list->field->record, item);
	}
}

static void read_list(struct reader *reader, const struct profile_field *field, char *to)
{
	bool is_object = field->kind == FIELD_OPTIONS || field->kind == FIELD_COUNTERS;
	bool is_short = is_object || field->kind == FIELD_SHORT_LIST, begun = false;
	const struct profile_table table = profile_table(field->record);
	struct list list = { field, NULL, table.size / sizeof(int64_t) };
	size_t size = field->kind == FIELD_TEXTS ? sizeof(char *)
		      : is_object                ? sizeof(struct profile_entry)
						 : table.size;

	/* The columns come before the rows. */
	if (field->kind == FIELD_ROWS && field->record == profile_event_id) {
		list.columns_at = find_columns(reader, (const struct profile_events *)to, &table);
		list.columns = ((const struct profile_events *)to)->field_count;
	}
	if (!enter(reader, is_object ? '{' : '['))
		return;
	size_t count = count_values(reader, is_object ? '}' : ']');
	if (is_short && count > READER_SHORT_MOST) {
		reader_complain(reader, "has more than %d entries", READER_SHORT_MOST);
		stop(reader, "%s", "");
	}
	char *items = reader->is_broken ? NULL : reader_allocate(reader, count, size);
	if (items == NULL)
		return;
	*(char **)(to + field->at) = items;
	*(size_t *)(to + field->count) = count;
	for (; has_next(reader, is_object ? '}' : ']', &begun); items += size)
		read_entry(reader, &list, items);
}

static void read_field(struct reader *reader, const struct profile_field *field, char *to)
{
	void *at = to + field->at;

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
	case FIELD_NUMBERS:
		read_numbers(reader, NULL, field->other, at);
		break;
	case FIELD_UNREAD:
	case FIELD_OLD:
		skip(reader, 0);
		break;
	default:
		read_list(reader, field, to);
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
