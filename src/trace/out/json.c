/*
 * json.c - writes JSON, indented by tabs, by the tables of records.
 */
#include "trace/out/json.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/units.h"

#include <string.h>

const char json_marks[2];

static const char tabs[] = "\t\t\t\t\t\t\t\t";

_Static_assert(JSON_DEPTH_MOST == sizeof(tabs) - 1, "a tab each");

/* Appends a text as it is.  The ends of many programs wait for this, so it formats nothing. */
static void put(struct json *json, const char *text)
{
	writer_bytes(json->writer, text, strlen(text));
}

static void new_line(struct json *json)
{
	put(json, "\n");
	writer_bytes(json->writer, tabs, json->depth);
}

static void separate(struct json *json)
{
	if (json->filled[json->depth])
		put(json, ",");
	if (json->depth > 0)
		new_line(json);
	json->filled[json->depth] = true;
}

static void string(struct json *json, const char *text)
{
	size_t length = strlen(text), from = 0;

	put(json, "\"");
	for (size_t at = 0; at < length;) {
		size_t bytes = units_printable(text + at, length - at);
		unsigned char byte = (unsigned char)text[at];

		if (bytes == 0 || byte == '"' || byte == '\\') {
			writer_bytes(json->writer, text + from, at - from);
			if (bytes == 1)
				writer_put(json->writer, "\\%c", byte);
			else if (byte < 0x20 || byte == 0x7f)
				writer_put(json->writer, "\\u%04x", byte);
			else
				put(json, "\\ufffd");
			from = at + 1;
		}
		at += bytes > 0 ? bytes : 1;
	}
	writer_bytes(json->writer, text + from, length - from);
	put(json, "\"");
}

static void key(struct json *json, const char *name)
{
	separate(json);
	if (name == NULL)
		return;
	string(json, name);
	put(json, ": ");
}

static void begin(struct json *json, const char *name, const char *bracket)
{
	key(json, name);
	put(json, bracket);
	json->filled[++json->depth] = false;
}

static void end(struct json *json, const char *bracket)
{
	bool filled = json->filled[json->depth--];

	if (filled)
		new_line(json);
	put(json, bracket);
}

static void put_null(struct json *json, const char *name)
{
	key(json, name);
	put(json, "null");
}

static void put_number(struct json *json, int64_t value)
{
	char digits[24], *at = digits + sizeof(digits) - 1;

	if (value < 0) {
		put(json, "null");
		return;
	}
	*at = '\0';
	do
		*--at = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	put(json, at);
}

static void number(struct json *json, const char *name, int64_t value)
{
	key(json, name);
	put_number(json, value == SO_FAR ? (int64_t)(hp_now_ns() - json->since_ns) : value);
}

static void words(struct json *json, const char *name, const char *value)
{
	key(json, name);
	string(json, value);
}

int64_t json_known(bool known, uint64_t value)
{
	return known ? (int64_t)value : UNKNOWN;
}

static void row(struct json *json, enum profile_record_id id, const void *record)
{
	const int64_t *numbers = record;

	separate(json);
	for (size_t i = 0; i < profile_table(id).size / sizeof(*numbers); i++) {
		writer_bytes(json->writer, i > 0 ? "," : "[", 1);
		put_number(json, numbers[i]);
	}
	put(json, "]");
}

static bool is_nullable(const struct profile_field *field)
{
	return field->presence == OR_NULL || field->presence == ADDED_OR_NULL;
}

static void put_entry(struct json *json, const struct profile_field *field, const void *entry)
{
	if (field->kind == FIELD_TEXTS)
		words(json, NULL, entry);
	else if (field->kind == FIELD_ROWS)
		row(json, field->record, entry);
	else
		json_record(json, NULL, field->record, entry);
}

/* Returns an entry of a list, which is in memory if `list` is NULL. */
static const void *entry_of(const struct json *json, const struct profile_field *field,
			    const struct json_list *list, const char *record, size_t index)
{
	const char *items = *(const char *const *)(record + field->at);

	if (list != NULL)
		return list->entry(json->report, index);
	if (index == *(const size_t *)(record + field->count))
		return JSON_END;
	return field->kind == FIELD_TEXTS ? ((const void *const *)(const void *)items)[index]
					  : items + index * profile_table(field->record).size;
}

static void put_list(struct json *json, const struct profile_field *field,
		     const struct json_list *list, const char *record)
{
	const void *entry = entry_of(json, field, list, record, 0);
	bool is_begun = field->presence != IF_ANY;

	if (entry == JSON_UNKNOWN) {
		put_null(json, field->name);
		return;
	}
	if (is_begun)
		begin(json, field->name, "[");
	for (size_t i = 0; entry != JSON_END; entry = entry_of(json, field, list, record, ++i)) {
		if (entry == NULL)
			continue;
		if (!is_begun)
			begin(json, field->name, "[");
		is_begun = true;
		put_entry(json, field, entry);
	}
	if (is_begun)
		end(json, "]");
}

static const struct json_list *list_of(const struct json *json, enum profile_record_id id,
				       const struct profile_field *field)
{
	for (const struct json_list *const *table = json->lists; *table != NULL; table++)
		for (const struct json_list *list = *table; list->entry != NULL; list++)
			if (list->record == id && list->at == field->at)
				return list;
	return NULL;
}

static void put_option(const struct hp_option_row *option, void *json)
{
	words(json, option->variable, option->value);
}

static void put_counters(struct json *json)
{
	for (int counter = 0; counter < HP_COUNTER_COUNT; counter++)
		number(json, hp_counter_names[counter],
		       (int64_t)atomic_load_explicit(&hp_counters[counter], memory_order_relaxed));
}

static bool are_zero(const int64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (numbers[i] != 0)
			return false;
	return true;
}

/* True if nothing of the record is known. */
static bool is_unknown(enum profile_record_id id, const void *record)
{
	_Alignas(int64_t) char unknown[sizeof(struct profile)];

	profile_forget(id, unknown);
	return memcmp(record, unknown, profile_table(id).size) == 0;
}

static void put_field(struct json *json, enum profile_record_id id,
		      const struct profile_field *field, const char *record)
{
	const void *at = record + field->at;

	switch ((enum profile_field_kind)field->kind) {
	case FIELD_NUMBER:
	case FIELD_INDEX:
		if (*(const int64_t *)at != LEFT_OUT)
			number(json, field->name, *(const int64_t *)at);
		break;
	case FIELD_TEXT: {
		const char *text = *(const char *const *)at;
		bool known = text != NULL && (text[0] != '\0' || !is_nullable(field));

		if (known)
			words(json, field->name, text);
		else if (field->presence != IF_ANY)
			put_null(json, field->name);
		break;
	}
	case FIELD_FLAG:
		if (*(const bool *)at || field->presence != IF_ANY) {
			key(json, field->name);
			put(json, *(const bool *)at ? "true" : "false");
		}
		break;
	case FIELD_PART:
		if (field->presence == ALWAYS || field->presence == ADDED ||
		    !is_unknown(field->record, at))
			json_record(json, field->name, field->record, at);
		else if (is_nullable(field))
			put_null(json, field->name);
		break;
	case FIELD_NUMBERS:
		if (field->presence == IF_ANY && are_zero(at, field->other))
			break;
		begin(json, field->name, "[");
		for (size_t i = 0; i < field->other; i++)
			number(json, NULL, ((const int64_t *)at)[i]);
		end(json, "]");
		break;
	case FIELD_OLD:
	case FIELD_UNREAD:
		break;
	case FIELD_OPTIONS:
	case FIELD_COUNTERS:
		begin(json, field->name, "{");
		if (field->kind == FIELD_OPTIONS)
			hp_options_each(put_option, json);
		else
			put_counters(json);
		end(json, "}");
		break;
	default:
		put_list(json, field, list_of(json, id, field), record);
	}
}

void json_record(struct json *json, const char *name, enum profile_record_id id, const void *record)
{
	const struct profile_table table = profile_table(id);

	begin(json, name, "{");
	for (size_t i = 0; i < table.count; i++)
		put_field(json, id, &table.fields[i], record);
	end(json, "}");
}
