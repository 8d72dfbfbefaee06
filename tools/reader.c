/*
 * reader.c - reads JSON values into structs.
 *
 * The first error is kept together with its place.  Reading continues, so callers need not check
 * every step.
 */
#include "reader.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void reader_complain(struct reader *reader, const char *format, ...)
{
	va_list args;

	if (reader->wrong[0] != '\0')
		return;
	va_start(args, format);
	vsnprintf(reader->wrong, sizeof(reader->wrong), format, args);
	va_end(args);
}

int64_t reader_number(struct reader *reader, const json_t *value, const char *name)
{
	/* A real number must be less than 2^63. */
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return json_integer_value(value);
	if (json_is_real(value) && json_real_value(value) >= 0 && json_real_value(value) < 0x1p63)
		return (int64_t)json_real_value(value);
	if (value != NULL && !json_is_null(value))
		reader_complain(reader, "%s%s must be a non-negative number", reader->where, name);
	return UNKNOWN;
}

const char *reader_text(struct reader *reader, const json_t *value, const char *name)
{
	if (json_is_string(value))
		return json_string_value(value);
	if (value != NULL && !json_is_null(value))
		reader_complain(reader, "%s%s must be a string", reader->where, name);
	return NULL;
}

void reader_fields(struct reader *reader, json_t *object, const struct reader_field *fields,
		   size_t count, void *to)
{
	for (const struct reader_field *field = fields; field < fields + count; field++) {
		json_t *value = json_object_get(object, field->name);
		char *at = (char *)to + field->at;

		switch (field->kind) {
		case NUMBER:
			*(int64_t *)at = reader_number(reader, value, field->name);
			break;
		case TEXT:
		case NAME:
			*(const char **)at = reader_text(reader, value, field->name);
			if (field->kind == NAME && *(const char **)at == NULL)
				*(const char **)at = "";
			break;
		case FLAG:
			*(bool *)at = json_is_true(value);
			if (value != NULL && !json_is_boolean(value) && !json_is_null(value))
				reader_complain(reader, "%s%s must be true or false", reader->where,
						field->name);
		}
	}
}

size_t reader_enter(struct reader *reader, const char *format, ...)
{
	size_t before = strlen(reader->where);
	va_list args;

	va_start(args, format);
	vsnprintf(reader->where + before, sizeof(reader->where) - before, format, args);
	va_end(args);
	return before;
}

void reader_leave(struct reader *reader, size_t before)
{
	reader->where[before] = '\0';
}

json_t *reader_object(struct reader *reader, json_t *parent, const char *name)
{
	json_t *value = json_object_get(parent, name);

	if (value == NULL || json_is_object(value))
		return value;
	if (!json_is_null(value))
		reader_complain(reader, "%s%s must be an object", reader->where, name);
	return NULL;
}

void reader_part(struct reader *reader, json_t *parent, const char *name,
		 const struct reader_field *fields, size_t count, void *to)
{
	json_t *object = reader_object(reader, parent, name);
	size_t before = reader_enter(reader, "%s.", name);

	reader_fields(reader, object, fields, count, to);
	reader_leave(reader, before);
}

void *reader_list(struct reader *reader, json_t *parent, const char *name, size_t size,
		  void (*item)(struct reader *reader, json_t *value, void *to), size_t *ret_count)
{
	json_t *list = json_object_get(parent, name), *value;
	size_t index;

	*ret_count = 0;
	if (list == NULL || json_is_null(list))
		return NULL;
	if (!json_is_array(list)) {
		reader_complain(reader, "%s%s must be a list", reader->where, name);
		return NULL;
	}
	char *items = profile_allocate(reader->profile, json_array_size(list), size);
	json_array_foreach(list, index, value)
	{
		size_t before = reader_enter(reader, "%s[%zu].", name, index);

		item(reader, value, items + index * size);
		reader_leave(reader, before);
		if (reader->wrong[0] != '\0')
			return NULL;
	}
	*ret_count = json_array_size(list);
	return items;
}

void *reader_short_list(struct reader *reader, json_t *parent, const char *name, size_t size,
			void (*item)(struct reader *reader, json_t *value, void *to),
			size_t *ret_count)
{
	*ret_count = 0;
	if (json_array_size(json_object_get(parent, name)) > READER_SHORT_MOST) {
		reader_complain(reader, "%s%s has more than %d entries", reader->where, name,
				READER_SHORT_MOST);
		return NULL;
	}
	return reader_list(reader, parent, name, size, item, ret_count);
}

void reader_need_object(struct reader *reader, const json_t *value)
{
	if (!json_is_object(value))
		reader_complain(reader, "%.*s must be an object", (int)strlen(reader->where) - 1,
				reader->where);
}

void reader_line(struct reader *reader, json_t *value, void *to)
{
	const char *found = reader_text(reader, value, "");

	*(const char **)to = found != NULL ? found : "";
}
