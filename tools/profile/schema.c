/*
 * schema.c - prints the published schema of a profile, when hotpin is built.
 *
 * It follows from base/profile.def, whose texts only this program has.
 */
#include "base/profile_fields.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

static json_t *type(const char *name, bool or_null)
{
	return or_null ? json_pack("{s:[s,s]}", "type", name, "null")
		       : json_pack("{s:s}", "type", name);
}

static json_t *number(bool or_null)
{
	json_t *made = type("integer", or_null);

	json_object_set_new(made, "minimum", json_integer(0));
	return made;
}

/* Returns the schema of a text that is one of these words. */
static json_t *words(const char *all, bool or_null)
{
	json_t *list = json_array();

	while (*all != '\0') {
		size_t length = strcspn(all, "|");

		json_array_append_new(list, json_stringn(all, length));
		all += length + (all[length] == '|');
	}
	if (or_null)
		json_array_append_new(list, json_null());
	return json_pack("{s:o}", "enum", list);
}

static json_t *record(json_t *to, enum profile_record_id id);

static json_t *list(json_t *items, bool or_null)
{
	json_t *made = type("array", or_null);

	json_object_set_new(made, "items", items);
	return made;
}

/* Returns the schema of the entries of a list. */
static json_t *entry(const struct profile_field *field)
{
	switch ((enum profile_field_kind)field->kind) {
	case FIELD_TEXTS:
		return type("string", false);
	case FIELD_NUMBERS:
		return number(false);
	case FIELD_ROWS:
		return list(number(true), false);
	default:
		return record(type("object", false), field->record);
	}
}

/* Returns the schema of an object with any names. */
static json_t *values(json_t *of)
{
	return json_pack("{s:s,s:o}", "type", "object", "additionalProperties", of);
}

static json_t *property(const struct profile_field *field)
{
	bool or_null = field->presence == OR_NULL || field->presence == ADDED_OR_NULL;

	switch ((enum profile_field_kind)field->kind) {
	case FIELD_NUMBER:
	case FIELD_INDEX:
		return number(or_null);
	case FIELD_TEXT:
		return field->words != NULL ? words(field->words, or_null)
					    : type("string", or_null);
	case FIELD_FLAG:
		return type("boolean", false);
	case FIELD_PART:
		return record(type("object", or_null), field->record);
	case FIELD_OPTIONS:
		return values(type("string", false));
	case FIELD_COUNTERS:
		return values(number(false));
	case FIELD_OLD:
		return json_object();
	default:
		return list(entry(field), or_null);
	}
}

/* Adds the properties of a record, and which of them each has.  Returns `to`. */
static json_t *record(json_t *to, enum profile_record_id id)
{
	const struct profile_table table = profile_table(id);
	json_t *properties = json_object(), *required = json_array();

	for (size_t i = 0; i < table.count; i++) {
		const struct profile_field *field = &table.fields[i];
		json_t *made = property(field);

		if (field->help[0] != '\0')
			json_object_set_new(made, "description", json_string(field->help));
		json_object_set_new(properties, field->name, made);
		if (field->presence <= OR_NULL)
			json_array_append_new(required, json_string(field->name));
	}
	json_object_set_new(to, "properties", properties);
	json_object_set_new(to, "required", required);
	return to;
}

int main(void)
{
	json_t *schema = json_pack(
		"{s:s,s:s,s:s,s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema",
		"title", "hotpin.profile 2.0", "description",
		"One process under hotpin. Times are integers in nanoseconds, sizes in bytes; null "
		"means unknown, never 0. A later 2.x may add fields but removes none.",
		"type", "object");

	json_dumpf(record(schema, profile_id), stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(schema);
	return ferror(stdout) || fflush(stdout) != 0;
}
