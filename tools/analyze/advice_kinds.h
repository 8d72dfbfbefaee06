/*
 * Shared by the advice_*.c files: adding to the list, bounds, and names of places.
 */
#ifndef HP_TOOLS_ANALYZE_ADVICE_KINDS_H
#define HP_TOOLS_ANALYZE_ADVICE_KINDS_H

#include "analyze/advice.h"
#include "analyze/advice_host.h"

/* Formats into the array `field`. */
#define SAY(field, ...)      snprintf(field, sizeof(field), __VA_ARGS__)

#define ADVICE_PLACE_COLUMNS 60

/* Each function adds its entries to the list. */
void advice_port(const struct profile *profile, struct advice_list *list,
		 const struct advice_host *host);
void advice_keep(const struct profile *profile, struct advice_list *list);
void advice_copies(const struct profile *profile, struct advice_list *list);
void advice_calls(const struct profile *profile, struct advice_list *list);

/* Adds an entry that saves so much.  NULL: it saves nothing, or too many others save more. */
struct advice *advice_add(const struct profile *profile, struct advice_list *list,
			  enum advice_kind kind, int64_t saves_ns);

int64_t advice_least(int64_t a, int64_t b);

/* Return the bound of what_if with that name, and what it saves; NULL and UNKNOWN: not known. */
const struct profile_bound *advice_bound(const struct profile *profile, const char *name);
int64_t advice_bound_ns(const struct profile *profile, const char *name);

/*
 * Returns the most time that the program saves without `count` calls that copy and take `ns`.  A
 * part of `ns` may be waits for kernels, which remain.
 */
int64_t advice_without_copies(const struct profile *profile, int64_t ns, int64_t count);

/*
 * Returns about how long `bytes` of a direction take on the device, if the program makes
 * asynchronous copies in it: the time in their calls says little.  0: it makes none, or not known.
 */
int64_t advice_async_ns(const struct profile *profile, const char *direction, int64_t bytes);

/* Returns the most time that `count` driver calls cost the host in addition to their own time. */
int64_t advice_around_calls(const struct profile *profile, int64_t count);

/*
 * All round trips: the copies, the time in them, and the time in the host code between them;
 * UNKNOWN: no record.
 */
struct advice_trips {
	int64_t copies, copy_ns, between_ns;
};

struct advice_trips advice_all_trips(const struct profile *profile);

bool advice_is_any(const struct profile_row *row);

/*
 * Returns the copy site that took longest in copies that `wanted` accepts; UNKNOWN: there is none.
 */
int64_t advice_largest_site(const struct profile *profile,
			    bool (*wanted)(const struct profile_row *row));
void advice_set_site(const struct profile *profile, struct advice *advice, int64_t site);

/* Write the name of a place or a round trip to `ret`, not escaped. */
const char *advice_place(const struct profile *profile, const struct profile_frames *frames,
			 bool allocation, char *ret, size_t room);
/* Names the largest download and the largest upload; leaves `ret` as it is if there are none. */
bool advice_name_copies(const struct profile *profile, char *ret, size_t room);
void advice_name_round_trip(const struct profile *profile, const struct profile_buffer *buffer,
			    char *ret, size_t room);

#endif
