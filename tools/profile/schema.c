/*
 * schema.c - prints the published schema of a profile, when hotpin is built.
 *
 * It follows from base/profile.def, whose texts only this program has.
 */
#include "base/profile_fields.h"

#include <stdio.h>
#include <string.h>

static unsigned depth;
static bool filled[64]; /* a member was written at this depth */

static void string(const char *text, size_t length)
{
	putchar('"');
	for (size_t i = 0; i < length; i++) {
		if (text[i] == '"' || text[i] == '\\')
			putchar('\\');
		putchar(text[i]);
	}
	putchar('"');
}

static void key(const char *name)
{
	printf("%s\n%*s", filled[depth] ? "," : "", (int)depth, "");
	filled[depth] = true;
	if (name == NULL)
		return;
	string(name, strlen(name));
	printf(": ");
}

static void begin(const char *name, char bracket)
{
	key(name);
	putchar(bracket);
	filled[++depth] = false;
}

static void end(char bracket)
{
	depth--;
	printf("\n%*s%c", (int)depth, "", bracket);
}

static void text(const char *name, const char *value)
{
	key(name);
	string(value, strlen(value));
}

static void type(const char *name, bool or_null)
{
	if (!or_null) {
		text("type", name);
		return;
	}
	begin("type", '[');
	text(NULL, name);
	text(NULL, "null");
	end(']');
}

static void number(bool or_null)
{
	type("integer", or_null);
	key("minimum");
	putchar('0');
}

/* Writes the words that a text may be. */
static void words(const char *all, bool or_null)
{
	begin("enum", '[');
	while (*all != '\0') {
		size_t length = strcspn(all, "|");

		key(NULL);
		string(all, length);
		all += length + (all[length] == '|');
	}
	if (or_null) {
		key(NULL);
		printf("null");
	}
	end(']');
}

static void record(enum profile_record_id id);

/* Writes the entries of a list of these records, or of texts. */
static void entries(const struct profile_field *field)
{
	begin("items", '{');
	if (field->kind == FIELD_TEXTS) {
		type("string", false);
	} else if (field->kind == FIELD_NUMBERS) {
		number(false);
	} else if (field->kind == FIELD_ROWS) {
		type("array", false);
		begin("items", '{');
		number(true);
		end('}');
	} else {
		type("object", false);
		record(field->record);
	}
	end('}');
}

/* Writes the values of an object with any names. */
static void values(bool are_texts)
{
	begin("additionalProperties", '{');
	if (are_texts)
		type("string", false);
	else
		number(false);
	end('}');
}

static void property(const struct profile_field *field)
{
	bool or_null = field->presence == OR_NULL || field->presence == ADDED_OR_NULL;

	begin(field->name, '{');
	if (field->help[0] != '\0')
		text("description", field->help);
	switch ((enum profile_field_kind)field->kind) {
	case FIELD_NUMBER:
	case FIELD_INDEX:
		number(or_null);
		break;
	case FIELD_TEXT:
		if (field->words != NULL)
			words(field->words, or_null);
		else
			type("string", or_null);
		break;
	case FIELD_FLAG:
		type("boolean", false);
		break;
	case FIELD_PART:
		type("object", or_null);
		record(field->record);
		break;
	case FIELD_OPTIONS:
	case FIELD_COUNTERS:
		type("object", false);
		values(field->kind == FIELD_OPTIONS);
		break;
	case FIELD_OLD:
		break;
	default:
		type("array", or_null);
		entries(field);
	}
	end('}');
}

/* Writes the properties of a record, and which of them each has. */
static void record(enum profile_record_id id)
{
	const struct profile_table table = profile_table(id);

	begin("properties", '{');
	for (size_t i = 0; i < table.count; i++)
		property(&table.fields[i]);
	end('}');
	begin("required", '[');
	for (size_t i = 0; i < table.count; i++)
		if (table.fields[i].presence <= OR_NULL)
			text(NULL, table.fields[i].name);
	end(']');
}

int main(void)
{
	putchar('{');
	filled[++depth] = false;
	text("$schema", "https://json-schema.org/draft/2020-12/schema");
	text("title", "hotpin.profile 2.0");
	text("description",
	     "One process under hotpin. Times are integers in nanoseconds, sizes in bytes; null "
	     "means unknown, never 0. A later 2.x may add fields but removes none.");
	type("object", false);
	record(profile_id);
	end('}');
	putchar('\n');
	return 0;
}
