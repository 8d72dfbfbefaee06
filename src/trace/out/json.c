/*
 * json.c - writes JSON, indented by tabs.
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

void json_number(struct json *json, const char *name, uint64_t value)
{
	key(json, name);
	writer_put(json->writer, "%llu", (unsigned long long)value);
}

void json_signed(struct json *json, const char *name, int64_t value)
{
	key(json, name);
	writer_put(json->writer, "%lld", (long long)value);
}

void json_null(struct json *json, const char *name)
{
	key(json, name);
	writer_put(json->writer, "null");
}

void json_known(struct json *json, const char *name, bool known, uint64_t value)
{
	if (known)
		json_number(json, name, value);
	else
		json_null(json, name);
}

void json_flow(struct json *json, const char *name, const struct trace_flow *flow)
{
	json_open(json, name, "{");
	json_number(json, "count", flow->count);
	json_number(json, "bytes", flow->bytes);
	json_number(json, "host_ns", flow->host_ns);
	json_close(json, "}");
}

void json_row(struct json *json, const uint64_t *values, size_t count)
{
	separate(json);
	for (size_t i = 0; i < count; i++) {
		if (values[i] == UINT64_MAX)
			writer_put(json->writer, "%snull", i > 0 ? "," : "[");
		else
			writer_put(json->writer, "%s%llu", i > 0 ? "," : "[",
				   (unsigned long long)values[i]);
	}
	writer_put(json->writer, "]");
}

void json_bool(struct json *json, const char *name, bool value)
{
	key(json, name);
	writer_put(json->writer, "%s", value ? "true" : "false");
}

void json_words(struct json *json, const char *name, const char *value)
{
	key(json, name);
	string(json, value);
}

void json_text(struct json *json, const char *name, const char *value)
{
	if (value[0] == '\0')
		json_null(json, name);
	else
		json_words(json, name, value);
}
