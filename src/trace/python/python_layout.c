/*
 * python_layout.c - offsets on machines with 64-bit addresses.
 *
 * Sources: Include/cpython/code.h, frameobject.h, pystate.h, unicodeobject.h and
 * Include/internal/pycore_frame.h, pycore_runtime.h, pycore_debug_offsets.h of each version.
 */
#include "trace/python/python_layout.h"
#include "base/parse.h"

#include <string.h>

static const struct python_layout layouts[] = {
	{ .version = 0x030b,
	  .ending = 24,
	  .thread = { .id = 152, .frame = 56, .detour = 8 },
	  .frame = { .caller = 48, .code = 32, .at = 56, .owner = 69 },
	  .code = { .file = 112,
		    .function = 128,
		    .lines = 136,
		    .first_line = 72,
		    .instructions = 184 },
	  .type = 8,
	  .bytes = { .size = 16, .data = 32 },
	  .text = { .length = 16, .state = 32, .ascii = 48, .data = 72, .kind_bit = 2 } },
	{ .version = 0x030c,
	  .ending = 24,
	  .thread = { .id = 136, .frame = 56, .detour = 0 },
	  .frame = { .caller = 8, .code = 0, .at = 56, .owner = 70 },
	  .code = { .file = 112,
		    .function = 128,
		    .lines = 136,
		    .first_line = 68,
		    .instructions = 192 },
	  .type = 8,
	  .bytes = { .size = 16, .data = 32 },
	  .text = { .length = 16, .state = 32, .ascii = 40, .data = 56, .kind_bit = 2 } },
};

/* Words of the interpreter's table: where parts begin, and where fields are in a part. */
enum { COOKIE, VERSION, FREE_THREADED, RUNTIME };
enum { RUNTIME_ENDING = 1 };
enum { THREAD_FRAME = 4, THREAD_ID = 5 };
enum { FRAME_CALLER = 1, FRAME_CODE = 2, FRAME_AT = 3, FRAME_OWNER = 5 };
enum { CODE_FILE = 1, CODE_FUNCTION = 3, CODE_LINES = 4, CODE_FIRST_LINE = 5, CODE_BYTES = 9 };
enum { OBJECT_TYPE = 1 };
enum { BYTES_SIZE = 1, BYTES_DATA = 2 };
enum { TEXT_STATE = 1, TEXT_LENGTH = 2, TEXT_ASCII = 3 };

static const struct parts {
	uint16_t version;
	uint8_t thread, frame, code, object, bytes, text;
} parts[] = {
	{ 0x030d, 19, 28, 34, 44, 64, 67 },
	{ 0x030e, 22, 31, 39, 50, 74, 77 },
};

bool python_layout_of(uint32_t version, struct python_layout *ret)
{
	for (size_t i = 0; i < HP_LEN(layouts); i++) {
		if (layouts[i].version != version >> 16)
			continue;
		*ret = layouts[i];
		return true;
	}
	return false;
}

static const struct parts *parts_of(const uint64_t *table)
{
	for (size_t i = 0; i < HP_LEN(parts); i++)
		if (table[VERSION] >> 16 == parts[i].version)
			return &parts[i];
	return NULL;
}

bool python_layout_from(const uint64_t table[PYTHON_TABLE_WORDS], struct python_layout *ret)
{
	const struct parts *part = parts_of(table);

	if (part == NULL || memcmp(&table[COOKIE], "xdebugpy", 8) != 0)
		return false;
	const uint64_t *runtime = table + RUNTIME;
	const uint64_t *thread = table + part->thread, *frame = table + part->frame;
	const uint64_t *code = table + part->code, *object = table + part->object;
	const uint64_t *bytes = table + part->bytes, *text = table + part->text;
	const struct {
		uint64_t offset, size;
		uint16_t *to;
	} fields[] = {
		{ runtime[RUNTIME_ENDING], PYTHON_NONE - 1, &ret->ending },
		{ thread[THREAD_ID], thread[0], &ret->thread.id },
		{ thread[THREAD_FRAME], thread[0], &ret->thread.frame },
		{ frame[FRAME_CALLER], frame[0], &ret->frame.caller },
		{ frame[FRAME_CODE], frame[0], &ret->frame.code },
		{ frame[FRAME_AT], frame[0], &ret->frame.at },
		{ frame[FRAME_OWNER], frame[0], &ret->frame.owner },
		{ code[CODE_FILE], code[0], &ret->code.file },
		{ code[CODE_FUNCTION], code[0], &ret->code.function },
		{ code[CODE_LINES], code[0], &ret->code.lines },
		{ code[CODE_FIRST_LINE], code[0], &ret->code.first_line },
		{ code[CODE_BYTES], code[0], &ret->code.instructions },
		{ object[OBJECT_TYPE], object[0], &ret->type },
		{ bytes[BYTES_SIZE], bytes[0], &ret->bytes.size },
		{ bytes[BYTES_DATA], bytes[0], &ret->bytes.data },
		{ text[TEXT_STATE], text[0], &ret->text.state },
		{ text[TEXT_LENGTH], text[0], &ret->text.length },
		{ text[TEXT_ASCII], text[0], &ret->text.ascii },
	};
	for (size_t i = 0; i < HP_LEN(fields); i++) {
		if (fields[i].size >= PYTHON_NONE || fields[i].offset >= fields[i].size)
			return false;
		*fields[i].to = (uint16_t)fields[i].offset;
	}
	ret->version = part->version;
	ret->thread.detour = PYTHON_NONE;
	/* PyCompactUnicodeObject has two more words. */
	ret->text.data = ret->text.ascii + 16;
	/*
	 * In builds without the interpreter lock, the field before the kind is a byte from 3.14 on.
	 */
	ret->text.kind_bit = table[FREE_THREADED] != 0 && part->version > 0x030d ? 8 : 2;
	return true;
}
