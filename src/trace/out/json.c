/*
 * json.c - writes JSON, indented by tabs, by the tables of records.
 */
#include "trace/out/json.h"
#include "base/units.h"

#include <string.h>

static const char tabs[] = "\t\t\t\t\t\t\t\t";

_Static_assert(JSON_DEPTH_MOST == sizeof(tabs) - 1, "a tab each");

static void separate(struct json *json)
{
	if (json->filled[json->depth])
		writer_put(json->writer, ",");
	if (json->depth > 0)
		writer_put(json->writer, "\n%.*s", (int)json->depth, tabs);
	json->filled[json->depth] = true;
}

static void string(struct json *json, const char *text)
{
	size_t length = strlen(text);

	writer_put(json->writer, "\"");
	for (size_t at = 0; at < length;) {
		size_t bytes = units_printable(text + at, length - at);
		unsigned char byte = (unsigned char)text[at];

		if (bytes == 1 && (byte == '"' || byte == '\\'))
			writer_put(json->writer, "\\%c", byte);
		else if (bytes > 0)
			writer_bytes(json->writer, text + at, bytes);
		else if (byte < 0x20 || byte == 0x7f)
			writer_put(json->writer, "\\u%04x", byte);
		else
			writer_put(json->writer, "\\ufffd");
		at += bytes > 0 ? bytes : 1;
	}
	writer_put(json->writer, "\"");
}

static void key(struct json *json, const char *name)
{
	separate(json);
	if (name == NULL)
		return;
	string(json, name);
	writer_put(json->writer, ": ");
}

void json_open(struct json *json, const char *name, const char *bracket)
{
	key(json, name);
	writer_put(json->writer, "%s", bracket);
	json->filled[++json->depth] = false;
}

void json_close(struct json *json, const char *bracket)
{
	bool filled = json->filled[json->depth--];

	if (filled)
		writer_put(json->writer, "\n%.*s", (int)json->depth, tabs);
	writer_put(json->writer, "%s", bracket);
}

void json_null(struct json *json, const char *name)
{
	key(json, name);
	writer_put(json->writer, "null");
}

static void put_number(struct json *json, int64_t value)
{
	if (value < 0)
		writer_put(json->writer, "null");
	else
		writer_put(json->writer, "%lld", (long long)value);
}

void json_number(struct json *json, const char *name, int64_t value)
{
	key(json, name);
	put_number(json, value);
}

static void json_signed(struct json *json, const char *name, int64_t value)
{
	key(json, name);
	if (value == UNKNOWN_SIGNED)
		writer_put(json->writer, "null");
	else
		writer_put(json->writer, "%lld", (long long)value);
}

void json_words(struct json *json, const char *name, const char *value)
{
	key(json, name);
	string(json, value);
}

int64_t json_known(bool known, uint64_t value)
{
	return known ? (int64_t)value : UNKNOWN;
}

void json_row(struct json *json, enum profile_record_id id, const void *record)
{
	const int64_t *numbers = record;

	separate(json);
	for (size_t i = 0; i < profile_table(id).size / sizeof(*numbers); i++) {
		writer_bytes(json->writer, i > 0 ? "," : "[", 1);
		put_number(json, numbers[i]);
	}
	writer_put(json->writer, "]");
}

static bool write_list(struct json *json, enum profile_record_id id,
		       const struct profile_field *field)
{
	for (size_t i = 0; i < json->list_count; i++) {
		const struct json_list *list = &json->lists[i];

		if (list->record != id || list->at != field->at)
			continue;
		list->write(json->report, json, field->name);
		return true;
	}
	return false;
}

static bool is_nullable(const struct profile_field *field)
{
	return field->presence == OR_NULL || field->presence == ADDED_OR_NULL;
}

/* Writes a list in memory, of records or of texts. */
static void put_list(struct json *json, const struct profile_field *field, const char *record)
{
	const char *items = *(const char *const *)(record + field->at);
	size_t count = *(const size_t *)(record + field->count);
	size_t size = field->kind == FIELD_TEXTS ? 0 : profile_table(field->record).size;

	if (field->presence == IF_ANY && count == 0)
		return;
	if (items == NULL && is_nullable(field)) {
		json_null(json, field->name);
		return;
	}
	json_open(json, field->name, "[");
	for (size_t i = 0; i < count; i++) {
		if (field->kind == FIELD_TEXTS)
			json_words(json, NULL, ((const char *const *)items)[i]);
		else
			json_record(json, NULL, field->record, items + i * size);
	}
	json_close(json, "]");
}

static void put_field(struct json *json, enum profile_record_id id,
		      const struct profile_field *field, const char *record)
{
	const void *at = record + field->at;

	switch ((enum profile_field_kind)field->kind) {
	case FIELD_NUMBER:
	case FIELD_INDEX:
		if (*(const int64_t *)at != LEFT_OUT)
			json_number(json, field->name, *(const int64_t *)at);
		break;
	case FIELD_SIGNED:
		json_signed(json, field->name, *(const int64_t *)at);
		break;
	case FIELD_TEXT: {
		const char *text = *(const char *const *)at;
		bool known = text != NULL && (text[0] != '\0' || !is_nullable(field));

		if (known)
			json_words(json, field->name, text);
		else if (field->presence != IF_ANY)
			json_null(json, field->name);
		break;
	}
	case FIELD_FLAG:
		if (*(const bool *)at || field->presence != IF_ANY) {
			key(json, field->name);
			writer_put(json->writer, *(const bool *)at ? "true" : "false");
		}
		break;
	case FIELD_PART:
		if (is_nullable(field) && profile_is_unknown(field->record, at))
			json_null(json, field->name);
		else
			json_record(json, field->name, field->record, at);
		break;
	case FIELD_NUMBERS:
		json_open(json, field->name, "[");
		for (size_t i = 0; i < field->other; i++)
			json_number(json, NULL, ((const int64_t *)at)[i]);
		json_close(json, "]");
		break;
	case FIELD_KNOWN:
	case FIELD_OLD:
	case FIELD_UNREAD:
		break;
	default:
		if (!write_list(json, id, field))
			put_list(json, field, record);
	}
}

void json_record(struct json *json, const char *name, enum profile_record_id id, const void *record)
{
	const struct profile_table table = profile_table(id);

	json_open(json, name, "{");
	for (size_t i = 0; i < table.count; i++)
		put_field(json, id, &table.fields[i], record);
	json_close(json, "}");
}
