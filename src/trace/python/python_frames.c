/*
 * python_frames.c - uses an object only if its type is the expected one.
 */
#include "trace/python/python_frames.h"
#include "base/hash.h"
#include "trace/utf8.h"

#include <string.h>

#define FRAMES_OF_C 16         /* at most so many in a row are skipped: no function's */
#define TABLE_MOST  (1u << 20) /* bytes of a line table */
#define STAMP_WORDS 32         /* of a line table */

/* The first value of a frame's owner that is not a function: a caller in C. */
enum { OWNER_OF_C = 3 };

/* References have flags in their low bits from 3.14 on; objects are aligned. */
#define FLAGS ((uintptr_t)3)

static bool read_word(const struct python *python, uintptr_t at, uintptr_t *ret)
{
	return python->read(at, ret, sizeof(*ret));
}

static bool is_of_type(const struct python *python, uintptr_t object, uintptr_t type)
{
	uintptr_t its;

	return read_word(python, object + python->layout.type, &its) && its == type;
}

static bool is_ending(const struct python *python)
{
	uintptr_t ending;

	return !read_word(python, python->runtime + python->layout.ending, &ending) || ending != 0;
}

bool python_is_thread(const struct python *python, uintptr_t state, uintptr_t thread)
{
	uintptr_t id;

	return !is_ending(python) && read_word(python, state + python->layout.thread.id, &id) &&
	       id == thread;
}

/* Reads the frame's position in its code.  *ret_runs: the frame has begun to run. */
static bool read_at(const struct python *python, uintptr_t frame, struct python_frame *ret,
		    bool *ret_runs)
{
	const struct python_layout *layout = &python->layout;
	uintptr_t instruction, size;

	if (!read_word(python, frame + layout->frame.at, &instruction) ||
	    !read_word(python, ret->code + layout->bytes.size, &size))
		return false;
	uintptr_t at = instruction - (ret->code + layout->code.instructions);
	/* A position one instruction before the first: not begun. */
	*ret_runs = at != (uintptr_t)-2;
	ret->at = (uint32_t)at;
	return !*ret_runs || (at <= UINT32_MAX && at / 2 < size);
}

/*
 * Adds the beginning of the line table to a hash.  Code in the place of freed code may have the
 * same file and function, and a table of the same size in the same place.
 */
static bool add_table(const struct python *python, uintptr_t lines, uint64_t *hash)
{
	uint64_t word[STAMP_WORDS];
	uintptr_t size;

	if (!read_word(python, lines + python->layout.bytes.size, &size))
		return false;
	/* A NUL and padding, which belong to the object, fill the table's last word. */
	size_t words = size / sizeof(word[0]) + 1;
	words = words < STAMP_WORDS ? words : STAMP_WORDS;
	if (!python->read(lines + python->layout.bytes.data, word, words * sizeof(word[0])))
		return false;
	uint64_t sum = size;
	for (size_t i = 0; i < words; i++)
		sum += word[i] * (HP_HASH_FACTOR + 2 * i);
	*hash = hp_mix(*hash, sum);
	return true;
}

static bool read_stamp(const struct python *python, struct python_frame *ret)
{
	const struct python_layout *layout = &python->layout;
	uintptr_t file, function, lines;
	uint32_t first;

	if (!read_word(python, ret->code + layout->code.file, &file) ||
	    !read_word(python, ret->code + layout->code.function, &function) ||
	    !read_word(python, ret->code + layout->code.lines, &lines) ||
	    !python->read(ret->code + layout->code.first_line, &first, sizeof(first)))
		return false;
	ret->stamp = hp_mix(hp_mix(hp_mix(first, file), function), lines);
	return add_table(python, lines, &ret->stamp);
}

bool python_is_there(const struct python *python, const struct python_frame *frame)
{
	struct python_frame now = { .code = frame->code };

	return is_of_type(python, frame->code, python->code_type) && read_stamp(python, &now) &&
	       now.stamp == frame->stamp;
}

enum step { STEP_FRAME, STEP_SKIP, STEP_END };

static enum step read_frame(const struct python *python, uintptr_t frame, struct python_frame *ret)
{
	const struct python_layout *layout = &python->layout;
	uint8_t owner = 0;
	bool runs;

	if (!python->read(frame + layout->frame.owner, &owner, sizeof(owner)))
		return STEP_END;
	if (owner >= OWNER_OF_C)
		return STEP_SKIP;
	if (!read_word(python, frame + layout->frame.code, &ret->code))
		return STEP_END;
	ret->code &= ~FLAGS;
	if (!is_of_type(python, ret->code, python->code_type) ||
	    !read_at(python, frame, ret, &runs) || !read_stamp(python, ret))
		return STEP_END;
	return runs ? STEP_FRAME : STEP_SKIP;
}

size_t python_frames(const struct python *python, uintptr_t state, size_t most,
		     struct python_frame *ret)
{
	const struct python_layout *layout = &python->layout;
	size_t count = 0, skipped = 0;
	uintptr_t frame;

	if (is_ending(python) || !read_word(python, state + layout->thread.frame, &frame))
		return 0;
	if (layout->thread.detour != PYTHON_NONE &&
	    !read_word(python, frame + layout->thread.detour, &frame))
		return 0;
	while (frame != 0 && count < most && skipped < FRAMES_OF_C) {
		enum step step = read_frame(python, frame, &ret[count]);

		if (step == STEP_END || !read_word(python, frame + layout->frame.caller, &frame))
			break;
		count += step == STEP_FRAME;
		skipped = step == STEP_FRAME ? 0 : skipped + 1;
	}
	return count;
}

/* In the style of CPython's "<string>".  The name of a file or function may be empty. */
static const char nameless[] = "<no name>";

/* Writes the letters of `text` from `from` on as UTF-8, as many as there is room for. */
static bool read_letters(const struct python *python, uintptr_t data, size_t width, size_t from,
			 size_t length, char *ret, size_t room)
{
	size_t used = 0;

	for (size_t i = from; i < length && used + 4 < room; i++) {
		uint32_t letter = 0;

		/* Machines with CUDA are little-endian. */
		if (!python->read(data + i * width, &letter, width))
			return false;
		/* Python's texts may contain NUL; U+FFFD takes its place. */
		used += utf8_put(letter != 0 ? letter : 0xfffd, ret + used);
	}
	ret[used] = '\0';
	if (used == 0)
		memcpy(ret, nameless, sizeof(nameless));
	return true;
}

static bool read_text(const struct python *python, uintptr_t text, bool keeps_end, char *ret,
		      size_t room)
{
	const struct python_layout *layout = &python->layout;
	uintptr_t length;
	uint32_t state;

	if (!is_of_type(python, text, python->text_type) ||
	    !read_word(python, text + layout->text.length, &length) ||
	    !python->read(text + layout->text.state, &state, sizeof(state)))
		return false;
	state >>= layout->text.kind_bit;
	size_t width = state & 7;
	bool compact = state & 8, ascii = state & 16;
	if (!compact || (width != 1 && width != 2 && width != 4) || (ascii && width != 1))
		return false;
	size_t most = ascii ? room - 5 : (room - 5) / 3;
	size_t from = keeps_end && length > most ? length - most : 0;
	return read_letters(python, text + (ascii ? layout->text.ascii : layout->text.data), width,
			    from, length, ret, room);
}

/* A table of the interpreter, which is read in pieces. */
struct table {
	const struct python *python;
	uintptr_t data;
	size_t size, at;
	uint8_t piece[64];
};

static int next_byte(void *arg)
{
	struct table *table = arg;
	size_t in_piece = table->at % sizeof(table->piece);

	if (table->at >= table->size)
		return -1;
	if (in_piece == 0) {
		size_t rest = table->size - table->at;

		rest = rest < sizeof(table->piece) ? rest : sizeof(table->piece);
		if (!table->python->read(table->data + table->at, table->piece, rest))
			return -1;
	}
	table->at++;
	return table->piece[in_piece];
}

/* Reads a number with six bits in each byte, the lowest first.  Bit 6: more bytes follow. */
static uint32_t read_number(int (*next)(void *arg), void *arg)
{
	uint32_t number = 0;
	int byte;

	for (unsigned shift = 0; (byte = next(arg)) >= 0; shift += 6) {
		if (shift < 32)
			number |= (uint32_t)(byte & 63) << shift;
		if ((byte & 64) == 0)
			break;
	}
	return number;
}

static void skip(int (*next)(void *arg), void *arg, int bytes)
{
	while (bytes-- > 0)
		next(arg);
}

/* Reads a number whose lowest bit is the sign. */
static uint32_t read_signed(int (*next)(void *arg), void *arg)
{
	uint32_t number = read_number(next, arg);

	return number & 1 ? -(number >> 1) : number >> 1;
}

/*
 * The table holds entries, whose first byte has bit 7 set.  This byte says the form, and the number
 * of instructions: at most eight, of two bytes each.  CPython's Objects/locations.md describes the
 * forms.
 */
uint32_t python_line_by_locations(int (*next)(void *arg), void *arg, uint32_t first, uint32_t at)
{
	enum { ONE_LINE = 10, NO_COLUMNS = 13, LONG = 14, NO_LINE = 15 };
	uint32_t line = first, begin = 0;
	int byte;

	while ((byte = next(arg)) >= 0) {
		uint32_t bytes = 2 * ((uint32_t)(byte & 7) + 1);
		int form = byte >> 3 & 15;

		if (form == LONG) {
			line += read_signed(next, arg);
			for (int i = 0; i < 3; i++)
				read_number(next, arg);
		} else if (form == NO_COLUMNS) {
			line += read_signed(next, arg);
		} else if (form < NO_COLUMNS) {
			line += form >= ONE_LINE ? (uint32_t)(form - ONE_LINE) : 0;
			skip(next, arg, form >= ONE_LINE ? 2 : 1);
		}
		if (at - begin < bytes)
			return form != NO_LINE ? line : 0;
		begin += bytes;
	}
	return 0;
}

static bool read_line(const struct python *python, const struct python_frame *frame,
		      uint32_t *ret_line)
{
	const struct python_layout *layout = &python->layout;
	struct table table = { .python = python };
	uintptr_t lines;
	uint32_t first;

	if (!python->read(frame->code + layout->code.first_line, &first, sizeof(first)) ||
	    !read_word(python, frame->code + layout->code.lines, &lines) ||
	    !is_of_type(python, lines, python->bytes_type) ||
	    !read_word(python, lines + layout->bytes.size, &table.size) || table.size > TABLE_MOST)
		return false;
	table.data = lines + layout->bytes.data;
	*ret_line = python_line_by_locations(next_byte, &table, first, frame->at);
	/*
	 * Code that the compiler adds has no line, and code that a program creates may have none.
	 */
	if ((int32_t)*ret_line <= 0)
		*ret_line = (int32_t)first > 0 ? first : 1;
	return true;
}

bool python_place(const struct python *python, const struct python_frame *frame,
		  struct python_place *ret)
{
	const struct python_layout *layout = &python->layout;
	uintptr_t file, function;

	return read_word(python, frame->code + layout->code.file, &file) &&
	       read_word(python, frame->code + layout->code.function, &function) &&
	       read_text(python, file, true, ret->file, sizeof(ret->file)) &&
	       read_text(python, function, false, ret->function, sizeof(ret->function)) &&
	       read_line(python, frame, &ret->line);
}
