/*
 * Reads untrusted JSON into the records of base/profile.def.
 *
 * The text is read once, from its begin to its end, so no value but the records is kept.  null and
 * missing values become UNKNOWN, NULL or false; a value of a wrong type is an error.  Reading goes
 * on after such an error, of which the first is kept; it ends where the text is no JSON.
 */
#ifndef HP_TOOLS_PROFILE_READER_H
#define HP_TOOLS_PROFILE_READER_H

#include "profile/profile.h"

/* Ends an error that another file may not have. */
#define PROFILE_NAME_ONE "; name a file of `hotpin run -o FILE`"

/* The largest index into a list, and where it is. */
struct reader_index {
	int64_t most;
	const char *field, *at;
};

/* Lists that indices refer to; there are eight. */
#define READER_INDICES 12

struct reader {
	struct profile *profile;
	const char *text, *at, *end;
	const char *field;        /* that is read */
	uint64_t held, held_most; /* memory for the profile */
	/* By struct profile_field's `other`, in the order in which they are met. */
	struct reader_index index[READER_INDICES];
	size_t count_of[READER_INDICES]; /* offsets of counts in struct profile */
	size_t indices;
	bool is_broken;    /* the text is no JSON, or too large */
	const char *wrong; /* the first error; NULL: none */
};

/* No run makes a short list longer: some commands compare each entry with all others. */
#define READER_SHORT_MOST 4096

/* Reads the text, a single record. */
void reader_read(struct reader *reader, enum profile_record_id id, void *to);

/* Stores an error such as "rows must be a list, before byte 4711" if it is the first. */
void reader_complain(struct reader *reader, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Memory of the profile; NULL after an error if a profile of this size cannot need it. */
void *reader_allocate(struct reader *reader, size_t count, size_t size);

/* Notes an index into the list whose count is at this offset of struct profile. */
void reader_note_index(struct reader *reader, size_t count_at, int64_t index);

/* By profile_check.c: completes and checks a record that has been read. */
void profile_check(struct reader *reader, enum profile_record_id id, void *record);

/* Also by profile_check.c: makes a frame of Python of a line. */
struct profile_frame profile_frame_of(const struct profile_source *source);

#endif
