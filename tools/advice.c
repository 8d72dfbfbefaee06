/*
 * advice.c - one function for each kind of change; the list keeps those that save most.
 *
 * A saving is never more than the wall time in the states that the change can shorten.
 */
#include "advice.h"
#include "advice_host.h"
#include "names.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_BYTES   65536
#define SMALL_LEAST   100 /* copies */
#define CALLS_LEAST   16  /* of a function that belongs outside of a loop */
#define GAPS_LEAST    2   /* times: a loop */
#define PLACE_COLUMNS 60

const char *const advice_kinds[ADVICE_KINDS] = {
	[ADVICE_PIN] = "pin",
	[ADVICE_UPLOAD_ONCE] = "upload_once",
	[ADVICE_KEEP] = "keep",
	[ADVICE_PORT] = "port",
	[ADVICE_ALLOCATE] = "allocate_once",
	[ADVICE_BATCH] = "batch",
	[ADVICE_OVERLAP] = "overlap",
	[ADVICE_SYNCHRONIZE] = "synchronize_less",
};

#define SAY(field, ...) snprintf(field, sizeof(field), __VA_ARGS__)

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What a bound of what_if says; UNKNOWN: it was not known. */
static const struct profile_bound *bound_of(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->bound_count; i++)
		if (strcmp(profile->bounds[i].name, name) == 0 && profile->bounds[i].saves_ns >= 0)
			return &profile->bounds[i];
	return NULL;
}

static int64_t bound_ns(const struct profile *profile, const char *name)
{
	const struct profile_bound *bound = bound_of(profile, name);

	return bound != NULL ? bound->saves_ns : UNKNOWN;
}

/* Of time in calls that copy, the part that could be saved: others wait for kernels. */
static int64_t without_copies(const struct profile *profile, int64_t ns)
{
	int64_t most = bound_ns(profile, "no_transfers");

	return ns >= 0 && most >= 0 ? least(ns, most) : ns;
}

/* True if the run was only observed: hotpin pinned nothing. */
static bool is_observed(const struct profile *profile)
{
	const char *pin = profile_option(profile, "HOTPIN_PIN");

	return pin != NULL && strcmp(pin, "0") == 0;
}

/* A new entry that saves so much; NULL: nothing worth an entry, or others save more. */
static struct advice *add(const struct profile *profile, struct advice_list *list,
			  enum advice_kind kind, int64_t saves_ns)
{
	saves_ns = least(saves_ns, profile->wall_ns);
	if (saves_ns <= 0)
		return NULL;
	size_t at = list->count;
	while (at > 0 && list->items[at - 1].saves_ns < saves_ns)
		at--;
	if (at == ADVICE_MOST)
		return NULL;
	size_t behind = list->count == ADVICE_MOST ? ADVICE_MOST - 1 - at : list->count - at;
	memmove(&list->items[at + 1], &list->items[at], behind * sizeof(list->items[0]));
	list->count += list->count < ADVICE_MOST;
	list->items[at] = (struct advice){
		.kind = kind, .saves_ns = saves_ns, .site = UNKNOWN, .buffer = UNKNOWN
	};
	return &list->items[at];
}

static const char *place(const struct profile *profile, const struct profile_frames *frames,
			 bool allocation, char *ret, size_t room)
{
	return names_place_short(profile, names_frame(profile, frames, allocation), ret, room,
				 PLACE_COLUMNS);
}

static const char *buffer_name(const struct profile *profile, const struct profile_buffer *buffer,
			       char *ret, size_t room)
{
	if (strcmp(buffer->kind, "other") == 0) {
		snprintf(ret, room, "memory that hotpin did not allocate");
		return ret;
	}
	return place(profile, &buffer->frames, true, ret, room);
}

/* The site whose copies that `wanted` accepts took longest; UNKNOWN: there is none. */
static int64_t largest_site(const struct profile *profile,
			    bool (*wanted)(const struct profile_row *row))
{
	int64_t site = UNKNOWN, most = 0;

	for (size_t i = 0; i < profile->site_count; i++) {
		int64_t ns = 0;

		for (size_t j = 0; j < profile->sites[i].row_count; j++)
			if (wanted(&profile->sites[i].rows[j]))
				ns = profile_add(ns, profile->sites[i].rows[j].host_ns);
		if (ns > most) {
			most = ns;
			site = (int64_t)i;
		}
	}
	return site;
}

static void set_site(const struct profile *profile, struct advice *advice, int64_t site)
{
	advice->site = site;
	if (site >= 0)
		place(profile, &profile->sites[site].frames, false, advice->where,
		      sizeof(advice->where));
}

static bool is_pageable(const struct profile_row *row)
{
	return strcmp(row->memory, "pageable") == 0;
}

static bool is_any(const struct profile_row *row)
{
	return strcmp(row->direction, "h2d") == 0 || strcmp(row->direction, "d2h") == 0;
}

static bool is_small(const struct profile_row *row)
{
	return is_any(row) && row->count > 0 && row->bytes >= 0 &&
	       row->bytes / row->count < SMALL_BYTES;
}

static void pin(const struct profile *profile, struct advice_list *list)
{
	const struct profile_bound *bound = bound_of(profile, "all_pinned");
	int64_t saves_ns = bound != NULL ? bound->saves_ns : 0;

	for (size_t i = 0; bound == NULL && i < profile->buffer_count; i++)
		saves_ns = profile_add(saves_ns, profile->buffers[i].could_save_ns);
	if (!profile_has_pageable(profile))
		return;
	struct advice *advice = add(profile, list, ADVICE_PIN, saves_ns);
	if (advice == NULL)
		return;
	advice->is_estimate = bound == NULL;
	advice->hotpin_does_it = is_observed(profile);
	set_site(profile, advice, largest_site(profile, is_pageable));
	SAY(advice->what, "pin the host memory of copies");
	SAY(advice->how, "%s",
	    advice->hotpin_does_it
		    ? "hotpin run, without --observe; no change of the program"
		    : "cudaMallocHost() or cudaHostRegister(); hotpin left this memory pageable");
	SAY(advice->assumes, "%s",
	    bound == NULL            ? "copies take what hotpin's pinned copies take"
	    : bound->assumes != NULL ? bound->assumes
				     : "");
}

static void upload_once(const struct profile *profile, struct advice_list *list)
{
	for (size_t i = 0; i < profile->repeats.site_count; i++) {
		const struct profile_repeat *repeat = &profile->repeats.sites[i];
		bool returns = strcmp(repeat->kind, "ping_pong") == 0;
		struct advice *advice = add(profile, list, ADVICE_UPLOAD_ONCE,
					    without_copies(profile, repeat->host_ns));

		if (advice == NULL)
			continue;
		set_site(profile, advice, repeat->site);
		advice->buffer = repeat->buffer;
		SAY(advice->what, "%s",
		    returns ? "leave out uploads of unchanged downloads"
			    : "upload once what is uploaded unchanged");
		SAY(advice->how, "%s: %s, %s",
		    returns ? "keep the device's copy" : "upload it before the loop",
		    show_several(repeat->count, "copy", "copies"), show_bytes(repeat->bytes));
		SAY(advice->assumes, "no kernel writes to the device's copy");
	}
}

/* Time in the copies of all round trips, and the host code between them; UNKNOWN: not recorded. */
struct trips {
	int64_t copy_ns, between_ns;
};

static void add_trips(struct trips *sum, const struct profile_trips *trips)
{
	sum->copy_ns = profile_add(sum->copy_ns, trips->copy_ns);
	/* Buffers that go up and down together share the time in between. */
	if (trips->host_ns > sum->between_ns)
		sum->between_ns = trips->host_ns;
}

static struct trips all_trips(const struct profile *profile)
{
	struct trips sum = { 0, 0 };

	if (profile->buffers == NULL)
		return (struct trips){ UNKNOWN, UNKNOWN };
	for (size_t i = 0; i < profile->buffer_count; i++) {
		add_trips(&sum, &profile->buffers[i].round_trips);
		add_trips(&sum, &profile->buffers[i].follows);
	}
	sum.copy_ns = without_copies(profile, sum.copy_ns);
	return sum;
}

static bool is_call(const struct profile_gap_end *end, const char *part)
{
	return end->call != NULL && strstr(end->call, part) != NULL;
}

/* "from A to B" of a gap. */
static void name_gap(const struct profile *profile, const struct profile_gap *gap, char *ret,
		     size_t room)
{
	char from[ADVICE_TEXT / 3], to[ADVICE_TEXT / 3];

	place(profile, &gap->before.frames, false, from, sizeof(from));
	place(profile, &gap->after.frames, false, to, sizeof(to));
	snprintf(ret, room, "from %s to %s", from, to);
}

/* The host code between a download and an upload that takes longest; NULL: not known. */
static const struct profile_gap *between(const struct profile *profile)
{
	const struct profile_gap *found = NULL;

	for (size_t i = 0; i < profile->gap_count; i++) {
		const struct profile_gap *gap = &profile->gaps[i];

		if (is_call(&gap->before, "DtoH") && is_call(&gap->after, "HtoD") &&
		    (found == NULL || gap->total_ns > found->total_ns))
			found = gap;
	}
	return found;
}

static void keep_one(const struct profile *profile, struct advice_list *list, size_t index)
{
	const struct profile_buffer *buffer = &profile->buffers[index];
	const struct profile_trips *same = &buffer->round_trips, *other = &buffer->follows;
	const struct profile_gap *gap = between(profile);
	int64_t saves_ns = profile_add(same->copy_ns, other->copy_ns);
	char after[ADVICE_TEXT / 3], name[ADVICE_TEXT / 3], code[ADVICE_TEXT - 80] = "";

	struct advice *advice = add(profile, list, ADVICE_KEEP, without_copies(profile, saves_ns));
	if (advice == NULL)
		return;
	advice->buffer = (int64_t)index;
	buffer_name(profile, buffer, name, sizeof(name));
	if (other->count > same->count && other->after >= 0) {
		buffer_name(profile, &profile->buffers[other->after], after, sizeof(after));
		SAY(advice->where, "%s comes down, %s goes up", after, name);
	} else {
		SAY(advice->where, "%s", name);
	}
	SAY(advice->what, "keep on the device what goes down and up");
	if (gap != NULL)
		name_gap(profile, gap, code, sizeof(code));
	SAY(advice->how, "port the host code in between%s%s: %s in %s", gap != NULL ? ", " : "",
	    code, show_time(same->host_ns > other->host_ns ? same->host_ns : other->host_ns),
	    show_several(profile_add(same->count, other->count), "round trip", "round trips"));
	SAY(advice->assumes, "no other host code needs the data in between");
}

/* An older profile has no round trips. */
static void keep_any(const struct profile *profile, struct advice_list *list)
{
	struct profile_sum up = profile_moved(profile, "h2d"), down = profile_moved(profile, "d2h");
	char name[ADVICE_TEXT / 3];

	if (up.count < 2 || down.count < 2)
		return;
	struct advice *advice = add(profile, list, ADVICE_KEEP, bound_ns(profile, "no_transfers"));
	if (advice == NULL)
		return;
	advice->site = largest_site(profile, is_any);
	if (advice->site >= 0)
		SAY(advice->where, "%s, and other copies",
		    place(profile, &profile->sites[advice->site].frames, false, name,
			  sizeof(name)));
	SAY(advice->what, "keep data on the device between kernels");
	SAY(advice->how, "port the host code that uses it in between: %s up, %s down",
	    show_bytes(up.bytes), show_bytes(down.bytes));
	SAY(advice->assumes, "data stays on the device, and no call copies any");
}

static void keep(const struct profile *profile, struct advice_list *list)
{
	if (all_trips(profile).copy_ns < 0 || profile->buffers == NULL ||
	    (profile->buffer_count > 0 && profile->buffers[0].round_trips.count < 0)) {
		keep_any(profile, list);
		return;
	}
	for (size_t i = 0; i < profile->buffer_count; i++)
		keep_one(profile, list, i);
}

/* True if `ns` of one function is all of the host code between downloads and uploads. */
static bool explains(int64_t ns, const struct trips *trips)
{
	return trips->between_ns > 0 && (__int128_t)ns * 5 >= (__int128_t)trips->between_ns * 4 &&
	       (__int128_t)ns * 4 <= (__int128_t)trips->between_ns * 5;
}

static void port_function(const struct profile *profile, struct advice_list *list,
			  const struct advice_function *function, const struct trips *trips)
{
	bool with_copies = trips->copy_ns > 0 && explains(function->ns, trips);
	struct advice *advice =
		add(profile, list, ADVICE_PORT,
		    with_copies ? profile_add(function->ns, trips->copy_ns) : function->ns);

	if (advice == NULL)
		return;
	advice->is_estimate = true;
	names_place_short(profile, function->frame, advice->where, sizeof(advice->where),
			  PLACE_COLUMNS);
	if (function->frame->function == NULL)
		SAY(advice->where, "code without names in %s",
		    names_module(profile, function->frame));
	SAY(advice->what, "port this function%s", with_copies ? ", and its copies go" : "");
	SAY(advice->how, "make its loops kernels: %s of host code in %s%s%s",
	    show_time(function->ns), show_several(function->samples, "sample", "samples"),
	    with_copies ? ", and copies of " : "", with_copies ? show_time(trips->copy_ns) : "");
	if (with_copies)
		SAY(advice->assumes, "it is the host code between download and upload, and its "
				     "kernel takes no time");
	else if (trips->copy_ns > 0)
		SAY(advice->assumes,
		    "its kernel takes no time; the copies of %s go when all host code between "
		    "them is ported",
		    show_time(trips->copy_ns));
	else
		SAY(advice->assumes, "its kernel and new copies take no time");
}

static void port_gap(const struct profile *profile, struct advice_list *list,
		     const struct profile_gap *gap, const struct trips *trips)
{
	bool with_copies =
		trips->copy_ns > 0 && is_call(&gap->before, "DtoH") && is_call(&gap->after, "HtoD");
	int64_t host_ns = profile_has_split(profile) ? least(gap->total_ns, profile->split.host_ns)
						     : gap->total_ns;

	if (gap->before.call == NULL || gap->after.call == NULL || gap->count < GAPS_LEAST ||
	    gap->before.frames.count == 0 || gap->after.frames.count == 0)
		return;
	struct advice *advice = add(profile, list, ADVICE_PORT,
				    with_copies ? profile_add(host_ns, trips->copy_ns) : host_ns);
	if (advice == NULL)
		return;
	SAY(advice->what, "port this host code%s", with_copies ? ", and its copies go" : "");
	name_gap(profile, gap, advice->where, sizeof(advice->where));
	SAY(advice->how, "make its loops kernels: %s, %s%s%s", show_time(gap->total_ns),
	    show_several(gap->count, "time", "times"), with_copies ? ", and copies of " : "",
	    with_copies ? show_time(trips->copy_ns) : "");
	SAY(advice->assumes, "all of it is work that a device can do, in no time");
}

static void port(const struct profile *profile, struct advice_list *list,
		 const struct advice_host *host)
{
	struct trips trips = all_trips(profile);

	for (size_t i = 0; i < host->count && i < 16; i++)
		port_function(profile, list, &host->items[i], &trips);
	for (size_t i = 0; !host->is_sampled && i < profile->gap_count; i++)
		port_gap(profile, list, &profile->gaps[i], &trips);
}

static bool is_class(const struct profile_call *call, const char *class)
{
	return call->class != NULL && strcmp(call->class, class) == 0;
}

/* Where the function is called, as the gaps beside it tell. */
static void place_of_call(const struct profile *profile, const char *name, char *ret, size_t room)
{
	int64_t most = 0;

	for (size_t i = 0; i < profile->gap_count; i++) {
		const struct profile_gap_end *ends[] = { &profile->gaps[i].before,
							 &profile->gaps[i].after };

		for (size_t j = 0; j < HP_LEN(ends); j++) {
			if (ends[j]->call == NULL || strcmp(ends[j]->call, name) != 0 ||
			    ends[j]->frames.count == 0 || profile->gaps[i].count <= most)
				continue;
			most = profile->gaps[i].count;
			place(profile, &ends[j]->frames, false, ret, room);
		}
	}
}

/* Only time in which the device was idle can be saved. */
static int64_t of_idle(const struct profile *profile, int64_t ns)
{
	return profile_has_split(profile) ? least(ns, profile->split.calls_ns) : ns;
}

static void allocate_once(const struct profile *profile, struct advice_list *list)
{
	const struct profile_call *largest = NULL;
	int64_t ns = 0, count = 0;

	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		if ((!is_class(call, "allocate") && !is_class(call, "free")) ||
		    call->count < CALLS_LEAST || call->total_ns < call->longest_ns ||
		    call->longest_ns < 0 || call->name == NULL)
			continue;
		ns = profile_add(ns, call->total_ns - call->longest_ns);
		count = profile_add(count, call->count);
		if (largest == NULL || call->total_ns > largest->total_ns)
			largest = call;
	}
	struct advice *advice = add(profile, list, ADVICE_ALLOCATE, of_idle(profile, ns));
	if (advice == NULL)
		return;
	SAY(advice->what, "allocate once, not in every step");
	place_of_call(profile, largest->name, advice->where, sizeof(advice->where));
	SAY(advice->how, "allocate before the loop and free behind it: %s, most time in %s",
	    show_several(count, "call", "calls"), show_text(largest->name, 40));
	SAY(advice->assumes, "the longest call of each function stays");
}

static int64_t small_copies(const struct profile *profile, const char *view, int64_t *ret_ns)
{
	int64_t count = 0;

	*ret_ns = 0;
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, view) != 0 ||
		    (strcmp(row->direction, "h2d") != 0 && strcmp(row->direction, "d2h") != 0))
			continue;
		for (size_t j = 0; j < row->size_count; j++) {
			if (row->sizes[j].from_bytes >= SMALL_BYTES || row->sizes[j].from_bytes < 0)
				continue;
			count = profile_add(count, row->sizes[j].count);
			*ret_ns = profile_add(*ret_ns, row->sizes[j].busy_ns);
		}
	}
	return count;
}

static void batch(const struct profile *profile, struct advice_list *list)
{
	int64_t ns, count = small_copies(profile, "hotpin", &ns);

	if (count < SMALL_LEAST || ns < 0)
		return;
	/* A call that waits for kernels does so in a batch, too. */
	if (profile->host.copy_calls_ns >= 0 && profile->host.waiting_for_kernels_ns >= 0 &&
	    profile->host.copy_calls_ns >= profile->host.waiting_for_kernels_ns)
		ns = least(ns, profile->host.copy_calls_ns - profile->host.waiting_for_kernels_ns);
	ns = without_copies(profile, ns);
	struct advice *advice = add(profile, list, ADVICE_BATCH, ns - ns / count);
	if (advice == NULL)
		return;
	set_site(profile, advice, largest_site(profile, is_small));
	SAY(advice->what, "put small copies together");
	SAY(advice->how, "copy once what %s below 64 KiB bring",
	    show_several(count, "copy", "copies"));
	SAY(advice->assumes, "one copy stays, and takes as long as one of them");
}

static void overlap(const struct profile *profile, struct advice_list *list)
{
	const struct profile_bound *bound = bound_of(profile, "all_overlapped");
	struct advice *advice =
		add(profile, list, ADVICE_OVERLAP, bound != NULL ? bound->saves_ns : UNKNOWN);

	if (advice == NULL)
		return;
	set_site(profile, advice, largest_site(profile, is_any));
	SAY(advice->what, "overlap copies and kernels");
	SAY(advice->how, "two streams and two buffers, of pinned memory");
	SAY(advice->assumes, "%s", bound->assumes != NULL ? bound->assumes : "");
}

static void synchronize_less(const struct profile *profile, struct advice_list *list)
{
	const struct profile_call *largest = NULL;
	int64_t ns = 0, count = 0;

	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		if (!is_class(call, "synchronize") || call->count < CALLS_LEAST ||
		    call->name == NULL || call->total_ns < 0)
			continue;
		ns = profile_add(ns, call->total_ns);
		count = profile_add(count, call->count);
		if (largest == NULL || call->total_ns > largest->total_ns)
			largest = call;
	}
	/* Without a split, waiting for kernels cannot be told from waiting for nothing. */
	if (!profile_has_split(profile))
		return;
	struct advice *advice = add(profile, list, ADVICE_SYNCHRONIZE, of_idle(profile, ns));
	if (advice == NULL)
		return;
	SAY(advice->what, "wait for the device less often");
	place_of_call(profile, largest->name, advice->where, sizeof(advice->where));
	SAY(advice->how, "leave out waits before work on the same stream: %s, most time in %s",
	    show_several(count, "call", "calls"), show_text(largest->name, 40));
	SAY(advice->assumes, "the idle time inside calls is that of these waits");
}

bool advice_is_worth(const struct profile *profile, const struct advice *advice)
{
	return (__int128_t)advice->saves_ns * 100 >= profile->wall_ns;
}

static bool is_part(int64_t ns, int64_t percent, const struct profile *profile)
{
	return ns >= 0 && (__int128_t)ns * 100 >= (__int128_t)profile->wall_ns * percent;
}

static void append(char *text, size_t room, const char *more)
{
	size_t used = strlen(text);

	snprintf(text + used, room - used, "%s%s", used > 0 ? "; " : "", more);
}

/* What stays whatever is done, if it is 5 % of the wall time. */
static void say_left(const struct profile *profile, struct advice_list *list)
{
	int64_t startup_ns = profile->split.startup_ns;
	int64_t kernel_ns = profile_add(profile->split.kernel_ns, profile->split.overlap_ns);
	char text[ADVICE_TEXT];

	if (is_part(startup_ns, 5, profile)) {
		snprintf(text, sizeof(text), "CUDA start-up takes %s (%s): no port removes it",
			 show_time(startup_ns), show_share(startup_ns, profile->wall_ns));
		append(list->left, sizeof(list->left), text);
	}
	if (is_part(kernel_ns, 5, profile)) {
		snprintf(text, sizeof(text),
			 "kernels take %s (%s): a profiler of kernels says how to make them faster",
			 show_time(kernel_ns), show_share(kernel_ns, profile->wall_ns));
		append(list->left, sizeof(list->left), text);
	}
}

/* Why host code was not looked into; NULL: it was. */
static const char *why_unsampled(const struct profile *profile)
{
	if (profile->sample_count > 0)
		return NULL;
	return profile->sampling.why != NULL ? profile->sampling.why : "it was not sampled";
}

static void say_blind(const struct profile *profile, struct advice_list *list,
		      const struct advice_host *host)
{
	const char *why = why_unsampled(profile);
	int64_t host_ns = profile->split.host_ns;

	if (!profile_has_split(profile)) {
		SAY(list->blind, "%s", show_no_split(profile));
		return;
	}
	if (!is_part(host_ns, 10, profile))
		return;
	if (why != NULL)
		SAY(list->blind, "functions of the %s of host code: not known (%s)",
		    show_time(host_ns), show_text(why, 120));
	else if (host->own_ns < host_ns / 2)
		SAY(list->blind,
		    "%s of host code took no CPU time in functions of the program: it waits, or "
		    "is in code of others",
		    show_time(host_ns - host->own_ns));
}

/* What is left is start-up and kernels, and no change is known that brings 2 %. */
static bool is_done(const struct profile *profile, const struct advice_list *list)
{
	int64_t left = profile_add(profile_add(profile->split.startup_ns, profile->split.kernel_ns),
				   profile->split.overlap_ns);

	return profile_has_split(profile) && !profile_used_no_device(profile) &&
	       is_part(left, 60, profile) &&
	       (list->count == 0 || !is_part(list->items[0].saves_ns, 2, profile));
}

void advice_make(const struct profile *profile, struct advice_list *ret)
{
	struct advice_host host;

	*ret = (struct advice_list){ 0 };
	/* A program that failed is to be mended before anything is ported or tuned. */
	if (profile->process.exit_status > 0 || profile->wall_ns <= 0)
		return;
	advice_host_read(profile, &host);
	/* Of a stage before any port, all is host code; transfers have no meaning. */
	port(profile, ret, &host);
	if (!profile_used_no_device(profile)) {
		pin(profile, ret);
		upload_once(profile, ret);
		keep(profile, ret);
		allocate_once(profile, ret);
		batch(profile, ret);
		overlap(profile, ret);
		synchronize_less(profile, ret);
	}
	say_left(profile, ret);
	say_blind(profile, ret, &host);
	ret->is_done = is_done(profile, ret);
	free(host.items);
}

const char *advice_on_host_code(const struct profile *profile, const struct advice_list *list)
{
	if (profile->split.startup_ns < 0 && profile->sample_count == 0)
		return NULL;
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind == ADVICE_PORT && advice_is_worth(profile, &list->items[i]))
			return ": what to do next says what to port";
	return profile->sample_count > 0 ? "" : NULL;
}
