/*
 * The offsets of fields in CPython's structures, for each version that hotpin can read.
 *
 * From 3.13 on the interpreter describes itself, in the table _Py_DebugOffsets at the beginning of
 * _PyRuntime.  The offsets of 3.11 and 3.12 were computed from the headers of these versions.
 * Offsets do not change within a version, and debug builds have the same offsets.
 */
#ifndef HP_TRACE_PYTHON_PYTHON_LAYOUT_H
#define HP_TRACE_PYTHON_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#define PYTHON_TABLE_WORDS 81 /* read from the interpreter's own table */
#define PYTHON_NONE        UINT16_MAX

struct python_layout {
	uint16_t version; /* 0x030b: 3.11 */
	uint16_t ending;  /* in _PyRuntime: not 0 while the interpreter ends */
	struct {
		uint16_t id;     /* pthread_self() */
		uint16_t frame;  /* the innermost frame, or a structure that points at it */
		uint16_t detour; /* offset in that structure; PYTHON_NONE: there is none */
	} thread;
	struct {
		uint16_t caller, code, at, owner;
	} frame;
	struct {
		uint16_t file, function, lines, first_line, instructions;
	} code;
	uint16_t type; /* in an object */
	struct {
		uint16_t size, data; /* size: in each object of variable size */
	} bytes;
	struct {
		uint16_t length, state, ascii, data; /* data: for text that is not ASCII */
		uint16_t kind_bit;                   /* the lowest bit of the kind in the state */
	} text;
};

/*
 * Writes the layout of 3.11 or 3.12.  `version` is as in PY_VERSION_HEX.  False: another version.
 */
bool python_layout_of(uint32_t version, struct python_layout *ret);

/*
 * Writes the layout by the interpreter's own table.  False: the version is unknown, or a word is
 * not an offset.
 */
bool python_layout_from(const uint64_t table[PYTHON_TABLE_WORDS], struct python_layout *ret);

#endif
