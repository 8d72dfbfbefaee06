/*
 * For the advice_*.c files: who adds to the list, and how much an entry saves.
 */
#ifndef HP_TOOLS_ANALYZE_ADVICE_LIST_H
#define HP_TOOLS_ANALYZE_ADVICE_LIST_H

#include "analyze/advice.h"
#include "analyze/advice_host.h"

/* Each function adds its entries to the list. */
void advice_port(const struct profile *profile, struct advice_list *list,
		 const struct advice_host *host);
void advice_keep(const struct profile *profile, struct advice_list *list);
void advice_copies(const struct profile *profile, struct advice_list *list);
void advice_calls(const struct profile *profile, struct advice_list *list);

/*
 * Advises to port all host code between downloads and uploads, unless another suggestion explains
 * it.  Called last.
 */
void advice_port_between(const struct profile *profile, struct advice_list *list,
			 const struct advice_host *host);

/* True if an entry that saves so much is added: it saves something, and few others save more. */
bool advice_is_wanted(const struct profile *profile, const struct advice_list *list,
		      int64_t saves_ns);

/* Adds an entry if it is wanted.  Texts may be NULL in place of "". */
void advice_add(const struct profile *profile, struct advice_list *list,
		const struct advice *advice);

int64_t advice_least(int64_t a, int64_t b);

/*
 * Returns what the program saves without the small downloads that decide about launches; 0: there
 * are none.
 */
int64_t advice_deciding_downloads(const struct profile *profile, int64_t *ret_site,
				  int64_t *ret_count);

/* True for a driver function of that class. */
bool advice_is_class(const struct profile_call *call, const char *class);

/* Returns the bound of what_if with that name; NULL: not known. */
const struct profile_bound *advice_bound(const struct profile *profile, const char *name);

/*
 * Returns the most time that the program saves without `count` calls that copy and take `ns`.  A
 * part of `ns` may be waits for kernels, which remain.
 */
int64_t advice_without_copies(const struct profile *profile, int64_t ns, int64_t count);

/*
 * Returns the most that `count` calls of `ns` spend in copying `bytes`.  Without the device's times
 * the waits for kernels in them are not known, and calls far slower than any copy are such waits.
 */
int64_t advice_copying_ns(const struct profile *profile, int64_t ns, int64_t bytes, int64_t count);

/*
 * Returns about how long `bytes` of a direction take on the device, if the program makes
 * asynchronous copies in it: the time in their calls says little.  0: it makes none, or not known.
 */
int64_t advice_async_ns(const struct profile *profile, const char *direction, int64_t bytes);

/* Returns the most time that `count` driver calls cost the host in addition to their own time. */
int64_t advice_around_calls(const struct profile *profile, int64_t count);

/* All round trips: the copies, the time in them, and the time in the host code between them. */
struct advice_trips {
	int64_t copies, copy_ns, between_ns;
};

struct advice_trips advice_all_trips(const struct profile *profile);

/* By advice_places.c: copy sites and round trips, and their names. */

/* True for an upload or a download. */
bool advice_is_any(const struct profile_row *row);

/*
 * Returns the copy site that took longest in copies that `wanted` accepts; UNKNOWN: there is none.
 */
int64_t advice_largest_site(const struct profile *profile,
			    bool (*wanted)(const struct profile_row *row));
void advice_set_site(const struct profile *profile, struct advice *advice, int64_t site);

/* Returns the name of the place, not escaped. */
const char *advice_place(const struct profile *profile, const struct profile_frame *frame);

/*
 * Returns the places of both copies of a buffer's round trips, or of the program's largest copies
 * if they are not known.  "": neither are.
 */
const char *advice_name_round_trip(const struct profile *profile,
				   const struct profile_buffer *buffer);

/* By advice_python.c: whether the program runs Python, and its lines that compute. */

/* True if the program runs Python, and its lines are known. */
bool advice_runs_python(const struct profile *profile);

/* True if the frame is native code of an installed library. */
bool advice_is_installed(const struct profile *profile, const struct profile_frame *frame);

/* True if the profile has code of a library with `part` in its path. */
bool advice_uses(const struct profile *profile, const char *part);

/* True for a program of Python that uses PyTorch. */
bool advice_uses_torch(const struct profile *profile);

/*
 * Writes the lines of the program that compute, at most python_count of them, in no order.  Returns
 * their number.  Their ns add up to `most_ns` at most.
 *
 * Left out are imports, whose CPU time is added to *ret_import_ns, and lines of the standard
 * library. A line that calls CUDA counts without its calls of other libraries, since they may work
 * for CUDA, and without the time in its CUDA calls.
 */
size_t advice_python_lines(const struct profile *profile, int64_t most_ns,
			   struct advice_function *ret, int64_t *ret_import_ns);

#endif
