/*
 * Names of code that a just-in-time compiler made, from /tmp/perf-PID.map, which such compilers
 * write for profilers: "START SIZE NAME" a line, in hexadecimal digits.
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

/* Reads one line of the map, which ends with a NUL.  False: it is none. */
bool jit_line(const char *line, uint64_t *ret_start, uint64_t *ret_bytes, const char **ret_name);

/*
 * Fills in the names of these addresses, which ascend.  Of two lines for one address the later one
 * holds.  The file must belong to this user, since /tmp is everyone's.
 */
void jit_read(const char *path, struct jit_name *names, size_t count);

#endif
