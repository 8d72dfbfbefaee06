/*
 * test_python_frames.c - frames and lines of a made-up interpreter in memory, byte by byte: the
 * table of 3.14, references with flags, frames without a function, and invalid memory.  test/python
 * tests real interpreters.
 */
#include "check.h"
#include "base/parse.h"
#include "trace/python/python_frames.h"

/* Made-up memory begins at BASE; nothing else can be read. */
#define BASE  ((uintptr_t)0x10000)
#define BYTES 4096

enum {
	CODE_TYPE = 0x10010,
	TEXT_TYPE = 0x10020,
	BYTES_TYPE = 0x10030,
	STATE = 0x10040,
	RUNTIME = 0x10180,
	ENDING = 0x101a0,
	FILE_NAME = 0x10200,
	FUNCTION = 0x10280,
	LINES = 0x10300,
	CODE = 0x10380,
	FRAMES = 0x10500,
	FRAME_ROOM = 0x60,
};

static _Alignas(8) char memory[BYTES];

static bool read_made_up(uintptr_t from, void *to, size_t bytes)
{
	if (from < BASE || from - BASE > BYTES - bytes)
		return false;
	memcpy(to, memory + (from - BASE), bytes);
	return true;
}

static void word(uintptr_t at, uint64_t value)
{
	memcpy(memory + (at - BASE), &value, sizeof(value));
}

/* Writes a table as of 3.14, with these values. */
static void make_table(uint64_t *table, uint32_t minor, bool free_threaded)
{
	size_t more = minor > 13 ? 3 : 0;
	const struct {
		size_t at, count;
		uint64_t values[10];
	} parts[] = {
		{ 19 + more, 6, { 400, 0, 0, 0, 72, 152 } },
		{ 28 + more, 6, { 96, 8, 0, 56, 80, 74 } },
		{ minor > 13 ? 39 : 34, 10, { 300, 112, 120, 128, 136, 68, 0, 0, 0, 208 } },
		{ minor > 13 ? 50 : 44, 2, { 16, 8 } },
		{ minor > 13 ? 74 : 64, 3, { 40, 16, 32 } },
		{ minor > 13 ? 77 : 67, 4, { 64, 32, 16, 40 } },
	};

	memset(table, 0xff, PYTHON_TABLE_WORDS * sizeof(*table));
	memcpy(table, "xdebugpy", 8);
	table[1] = 0x03000000 | minor << 16 | 0xf0;
	table[2] = free_threaded;
	table[4] = ENDING - RUNTIME;
	for (size_t i = 0; i < HP_LEN(parts); i++)
		memcpy(table + parts[i].at, parts[i].values, 8 * parts[i].count);
}

TEST(the_interpreters_own_table)
{
	uint64_t table[PYTHON_TABLE_WORDS];
	struct python_layout layout;

	for (uint32_t minor = 13; minor <= 14; minor++) {
		make_table(table, minor, false);
		CHECK(python_layout_from(table, &layout));
		CHECK_EQ(layout.version, 0x0300 | minor);
		CHECK_EQ(layout.ending, ENDING - RUNTIME);
		CHECK(layout.thread.id == 152 && layout.thread.frame == 72);
		CHECK(layout.frame.caller == 8 && layout.frame.code == 0 && layout.frame.at == 56);
		CHECK(layout.frame.owner == 74 && layout.type == 8);
		CHECK(layout.code.file == 112 && layout.code.function == 128);
		CHECK(layout.code.lines == 136 && layout.code.first_line == 68);
		CHECK(layout.code.instructions == 208);
		CHECK(layout.bytes.size == 16 && layout.bytes.data == 32);
		CHECK(layout.text.state == 32 && layout.text.length == 16);
		CHECK(layout.text.ascii == 40 && layout.text.data == 56);
		CHECK_EQ(layout.text.kind_bit, 2);
		make_table(table, minor, true);
		CHECK(python_layout_from(table, &layout));
		CHECK_EQ(layout.text.kind_bit, minor > 13 ? 8 : 2);
	}
	make_table(table, 14, false);
	table[22 + 4] = 401; /* beyond the thread's state */
	CHECK(!python_layout_from(table, &layout));
	make_table(table, 15, false);
	CHECK(!python_layout_from(table, &layout));
	make_table(table, 14, false);
	table[0]++;
	CHECK(!python_layout_from(table, &layout));
	CHECK(python_layout_of(0x030b0df0, &layout) && layout.version == 0x030b);
	CHECK(python_layout_of(0x030c01f0, &layout) && layout.version == 0x030c);
	CHECK(!python_layout_of(0x030a00f0, &layout) && !python_layout_of(0x030d00f0, &layout));
}

static struct python python;

static void make_text(uintptr_t at, const char *text)
{
	word(at + 8, TEXT_TYPE);
	word(at + 16, strlen(text));
	word(at + 32, (1 | 8 | 16) << 2);
	memcpy(memory + (at + 40 - BASE), text, strlen(text));
}

static void make_frame(unsigned number, uint64_t code, uint64_t at, uint8_t owner)
{
	uintptr_t frame = FRAMES + number * FRAME_ROOM;

	word(frame, code);
	word(frame + 8, frame + FRAME_ROOM);
	word(frame + 56, at);
	memory[frame + 74 - BASE] = (char)owner;
}

/* Makes three frames: of a function, of C code, of the same function. */
static void make_interpreter(void)
{
	static const uint8_t lines[] = { 0x80 | 10 << 3 | 1, 0, 0, 0x80 | 12 << 3 | 0, 0, 0 };
	uint64_t table[PYTHON_TABLE_WORDS];

	memset(memory, 0, sizeof(memory));
	make_table(table, 14, false);
	CHECK(python_layout_from(table, &python.layout));
	python.read = read_made_up;
	python.runtime = RUNTIME;
	python.code_type = CODE_TYPE;
	python.text_type = TEXT_TYPE;
	python.bytes_type = BYTES_TYPE;
	word(STATE + 152, 4711);
	word(STATE + 72, FRAMES);
	make_text(FILE_NAME, "train.py");
	make_text(FUNCTION, "Model.step");
	word(LINES + 8, BYTES_TYPE);
	word(LINES + 16, sizeof(lines));
	memcpy(memory + (LINES + 32 - BASE), lines, sizeof(lines));
	word(CODE + 8, CODE_TYPE);
	word(CODE + 16, 3);
	word(CODE + 68, 40);
	word(CODE + 112, FILE_NAME);
	word(CODE + 128, FUNCTION);
	word(CODE + 136, LINES);
	make_frame(0, CODE | 1, CODE + 208 + 4, 0);
	make_frame(1, 0, 0, 3);
	make_frame(2, CODE, CODE + 208, 1);
	word(FRAMES + 2 * FRAME_ROOM + 8, 0);
}

TEST(frames_with_flags_and_frames_of_c)
{
	struct python_frame frame[4];
	struct python_place place;

	make_interpreter();
	CHECK(python_is_thread(&python, STATE, 4711) && !python_is_thread(&python, STATE, 4712));
	CHECK_EQ(python_frames(&python, STATE, 4, frame), 2);
	CHECK(frame[0].code == CODE && frame[0].at == 4 && frame[1].at == 0);
	CHECK(python_place(&python, &frame[0], &place));
	CHECK(strcmp(place.file, "train.py") == 0 && strcmp(place.function, "Model.step") == 0);
	CHECK_EQ(place.line, 42);
	CHECK(python_place(&python, &frame[1], &place));
	CHECK_EQ(place.line, 40);
	CHECK_EQ(python_frames(&python, STATE, 1, frame), 1);
}

TEST(what_makes_no_sense_ends_the_way)
{
	struct python_frame frame[64];

	make_interpreter();
	word(FRAMES + 56, CODE + 208 + 6); /* behind the last instruction */
	CHECK_EQ(python_frames(&python, STATE, 64, frame), 0);
	make_interpreter();
	make_frame(2, TEXT_TYPE, CODE + 208, 0);
	CHECK_EQ(python_frames(&python, STATE, 64, frame), 1);
	make_interpreter();
	word(FRAMES + 8, 8); /* cannot be read */
	CHECK_EQ(python_frames(&python, STATE, 64, frame), 1);
	make_interpreter();
	word(FRAMES + 8, FRAMES); /* a circle */
	CHECK_EQ(python_frames(&python, STATE, 64, frame), 64);
	make_interpreter();
	make_frame(0, 0, 0, 3);
	word(FRAMES + 8, FRAMES); /* of C alone */
	CHECK_EQ(python_frames(&python, STATE, 64, frame), 0);
	CHECK_EQ(python_frames(&python, 16, 64, frame), 0);
	make_interpreter();
	word(ENDING, 1);
	CHECK_EQ(python_frames(&python, STATE, 64, frame), 0);
}

TEST(names_that_make_no_sense)
{
	struct python_frame frame;
	struct python_place place;

	make_interpreter();
	CHECK_EQ(python_frames(&python, STATE, 1, &frame), 1);
	word(FUNCTION + 16, UINT64_C(1) << 60); /* longer than memory: its beginning is there */
	CHECK(python_place(&python, &frame, &place));
	word(FILE_NAME + 16, UINT64_C(1) << 60); /* the end is not */
	CHECK(!python_place(&python, &frame, &place));
	make_interpreter();
	word(FUNCTION + 32, (3 | 8) << 2); /* letters of three bytes */
	CHECK(!python_place(&python, &frame, &place));
	make_interpreter();
	word(FUNCTION + 8, BYTES_TYPE);
	CHECK(!python_place(&python, &frame, &place));
	make_interpreter();
	word(LINES + 8, TEXT_TYPE);
	CHECK(!python_place(&python, &frame, &place));
	make_interpreter();
	word(LINES + 16, 0); /* no line of the instruction: the function's */
	CHECK(python_place(&python, &frame, &place));
	CHECK_EQ(place.line, 40);
}

struct table {
	const uint8_t *bytes;
	size_t count;
};

static int next_byte(void *arg)
{
	struct table *table = arg;

	return table->count > 0 ? (table->count--, *table->bytes++) : -1;
}

TEST(location_tables)
{
	/* Forms: columns alone, the same line, one more, no columns, long, no line at all. */
	static const uint8_t bytes[] = {
		0x80, 0x12, 0xd1, 1,    2,    0xd8, 3,    4,    0xe8, 0x43,
		0x03, 0xf0, 0x05, 0x01, 0x41, 0x01, 0x02, 0xf8, 0xe8, 0x08
	};
	static const uint32_t lines[] = { 7, 7, 7, 8, 0, 0, 0, 0 };

	for (uint32_t at = 0; at < 16; at += 2) {
		struct table table = { bytes, sizeof(bytes) };
		uint32_t line = python_line_by_locations(next_byte, &table, 7, at);

		if (at < 8)
			CHECK_EQ(line, lines[at / 2]);
	}
	/* Less 97 lines for the bytes 0x43 0x03, then 2 less, none, and 4 more. */
	for (uint32_t at = 8; at <= 16; at += 2) {
		static const uint32_t expected[] = { 108 - 97, 9, 0, 13, 0 };
		struct table table = { bytes, sizeof(bytes) };

		CHECK_EQ(python_line_by_locations(next_byte, &table, 107, at),
			 expected[(at - 8) / 2]);
	}
	struct table cut = { bytes, 9 };
	CHECK_EQ(python_line_by_locations(next_byte, &cut, 7, 8), 8);
}

CHECK_MAIN()
