/*
 * Files that the program has mapped: copies from such memory are named by the file.
 */
#ifndef HP_TRACE_PLACES_MAPPED_FILES_H
#define HP_TRACE_PLACES_MAPPED_FILES_H

#include <stddef.h>
#include <stdint.h>

/* Mappings at the same time.  Copies from further ones have no name. */
#define MAPPED_FILES_MOST 256
#define MAPPED_FILES_NAME 64

struct mapped_file {
	uintptr_t from, to;
	uint64_t path; /* a hash */
	char name[MAPPED_FILES_NAME];
};

/*
 * Notes that the program has mapped a file there.  Any thread, with any lock of the program's, also
 * before main().  Keeps errno.
 */
void mapped_files_note(const void *address, size_t bytes, int fd);

/* Notes that what was mapped there is about to end.  As above. */
void mapped_files_forget(const void *address, size_t bytes);

/* Returns the file at an address, with the lock `trace` held; NULL: there is none. */
const struct mapped_file *mapped_files_at(const void *address);

#endif
