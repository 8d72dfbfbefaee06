/*
 * The table of all entry points.  Only addresses are taken, because generic.c must not include
 * cuda.h, which does not declare all of them.
 */
#ifndef STANDIN_ENTRIES_H
#define STANDIN_ENTRIES_H

struct entry {
	const char *base;
	int version, flags;
	void (*function)(void);
};

/* The last one has no base. */
extern const struct entry standin_entries[];

#endif
