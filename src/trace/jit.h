/*
 * Names of code that a just-in-time compiler made.  Such compilers write /tmp/perf-PID.map for
 * profilers: one line "START SIZE NAME" for each function, with hexadecimal numbers.
 */
#ifndef HP_TRACE_JIT_H
#define HP_TRACE_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_NAME_ROOM 96

struct jit_name {
	uint64_t address;
	char name[JIT_NAME_ROOM]; /* "": not known */
};

/* Reads one line of the map, which ends with a NUL.  False: not a line of a map. */
bool jit_line(const char *line, uint64_t *ret_start, uint64_t *ret_bytes, const char **ret_name);

/* Returns the index of the first name at or above `address`, in names whose addresses ascend. */
size_t jit_name_at(const struct jit_name *names, size_t count, uint64_t address);

/*
 * Fills in the names of these addresses, which ascend.  Of two lines for one address, the later
 * line counts.  The file must belong to this user, since every user can write to /tmp.
 */
void jit_read(const char *path, struct jit_name *names, size_t count);

#endif
