/*
 * advice.c - one function for each kind of change; the list keeps those that save most.
 *
 * A saving is never more than the wall time in the states that the change can shorten.
 */
#include "analyze/advice.h"
#include "analyze/advice_list.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <string.h>

#define GAPS_LEAST    16
#define UPLOADS_LEAST 16    /* of a buffer: again and again */
#define HASHED_BYTES  65536 /* as in trace/calls/repeats.h */
/* Downloads into new pageable memory are the slowest copies: 1.5 GB/s and more. */
#define SLOW_BYTE_NS  1
#define SLOW_CALL_NS  50000

const char *const advice_kinds[ADVICE_KINDS] = {
	[ADVICE_PIN] = "pin",
	[ADVICE_UPLOAD_ONCE] = "upload_once",
	[ADVICE_KEEP] = "keep",
	[ADVICE_PORT] = "port",
	[ADVICE_ALLOCATE] = "allocate_once",
	[ADVICE_BATCH] = "batch",
	[ADVICE_HOST_COPY] = "host_copy",
	[ADVICE_OVERLAP] = "overlap",
	[ADVICE_SYNCHRONIZE] = "synchronize_less",
	[ADVICE_SETTING] = "setting",
};

/* Returns a bound of what_if; NULL if it is unknown. */
const struct profile_bound *advice_bound(const struct profile *profile, const char *name)
{
	for (size_t i = 0; profile_has_split(profile) && i < profile->bound_count; i++)
		if (strcmp(profile->bounds[i].name, name) == 0 && profile->bounds[i].saves_ns >= 0)
			return &profile->bounds[i];
	return NULL;
}

/* Returns count * ns, at most INT64_MAX. */
static int64_t times(int64_t count, int64_t ns)
{
	__int128_t product = (__int128_t)count * ns;

	return product > INT64_MAX ? INT64_MAX : (int64_t)product;
}

/* The host code between two short calls is mostly that of the runtime and of bookkeeping. */
int64_t advice_around_calls(const struct profile *profile, int64_t count)
{
	int64_t gaps = profile->gaps_short.count, ns = profile->gaps_short.total_ns;

	return count > 0 && gaps >= GAPS_LEAST && ns > 0 ? times(count, ns / gaps) : 0;
}

int64_t advice_copying_ns(const struct profile *profile, int64_t ns, int64_t bytes, int64_t count)
{
	int64_t slow_ns = profile_add(times(bytes, SLOW_BYTE_NS), times(count, SLOW_CALL_NS));

	if (profile->host.waiting_for_kernels_ns >= 0 || bytes < 0 || count < 0 ||
	    (profile->host.launches == 0 && profile->host.graph_launches == 0))
		return ns;
	return advice_least(ns, slow_ns);
}

/* The time in driver calls other than copies while the device is idle. */
static int64_t idle_calls_ns(const struct profile *profile)
{
	int64_t copies_ns = profile->host.overhead_ns > 0 ? profile->host.overhead_ns : 0;

	return profile->split.calls_ns > copies_ns ? profile->split.calls_ns - copies_ns : 0;
}

/*
 * Returns the time for which the device idles before launches behind these copies: a kernel is
 * launched after the copy has ended.  The device begins a kernel about as late as a copy, and the
 * calls of copies tell for how long it idles then.
 */
static int64_t latencies(const struct profile *profile, int64_t count)
{
	int64_t launches = profile_add(profile->host.launches, profile->host.graph_launches);
	int64_t idle_ns = profile_add(idle_calls_ns(profile), profile->split.host_ns);
	const char *view = profile_view(profile);
	int64_t copies = profile_add(profile_moved(profile, view, "h2d").count,
				     profile_moved(profile, view, "d2h").count);

	if (!profile_has_split(profile) || launches <= 0 || count <= 0 || copies <= 0 ||
	    profile->host.overhead_ns <= 0)
		return 0;
	return advice_least(
		times(advice_least(count, launches), profile->host.overhead_ns / copies), idle_ns);
}

int64_t advice_async_ns(const struct profile *profile, const char *direction, int64_t bytes)
{
	int64_t asynchronous = 0, device_bytes = 0, device_ns = 0;

	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->direction, direction) != 0 || row->count < 0)
			continue;
		if (strcmp(row->view, "hotpin") == 0 && row->sync_count >= 0) {
			asynchronous = profile_add(asynchronous, row->count - row->sync_count);
		} else if (strcmp(row->view, "cupti") == 0 && row->bytes > 0 && row->busy_ns > 0) {
			device_bytes = profile_add(device_bytes, row->bytes);
			device_ns = profile_add(device_ns, row->busy_ns);
		}
	}
	if (asynchronous <= 0 || device_bytes <= 0 || bytes <= 0)
		return 0;
	return (int64_t)((__int128_t)device_ns * advice_least(bytes, device_bytes) / device_bytes);
}

bool advice_is_class(const struct profile_call *call, const char *class)
{
	return call->class != NULL && strcmp(call->class, class) == 0;
}

/* True if the host polls for the end of work, so that its own work cannot be told from waiting. */
static bool is_poll(const struct profile_call *call)
{
	return call->name != NULL && strstr(call->name, "Query") != NULL &&
	       advice_is_class(call, "stream") && call->count >= GAPS_LEAST;
}

/*
 * The time in launches while the device is idle, at least.  Such a launch waits for nothing.
 * UNKNOWN: it is not known.
 */
static int64_t launching_ns(const struct profile *profile)
{
	int64_t ns = idle_calls_ns(profile), launches_ns = 0;

	if (profile->calls == NULL || profile->host.overhead_ns < 0)
		return UNKNOWN;
	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		if (call->total_ns < 0 || is_poll(call))
			return UNKNOWN;
		if (advice_is_class(call, "launch"))
			launches_ns = profile_add(launches_ns, call->total_ns);
		else if (!advice_is_class(call, "copy") && !advice_is_class(call, "start_up"))
			ns -= advice_least(ns, call->total_ns);
	}
	return advice_least(ns, launches_ns);
}

/*
 * Returns the most that the program saves without copies, even if nothing else waits: one thread
 * calls CUDA, so its start-up, its host code except for `around_ns`, and its launches remain.
 * UNKNOWN: several threads, or ranks, may wait for each other.
 */
static int64_t beyond_host(const struct profile *profile, int64_t around_ns)
{
	int64_t host_ns = profile->split.host_ns, startup_ns = profile->split.startup_ns;
	int64_t launching = launching_ns(profile);

	if (!profile_has_split(profile) || profile->host.threads != 1 ||
	    profile->process.rank != NULL || launching < 0)
		return UNKNOWN;
	host_ns -= advice_least(host_ns, around_ns);
	int64_t remains = profile_add(profile_add(startup_ns, host_ns), launching);
	return profile->wall_ns > remains ? profile->wall_ns - remains : 0;
}

int64_t advice_without_copies(const struct profile *profile, int64_t ns, int64_t count)
{
	const struct profile_bound *bound = advice_bound(profile, "no_transfers");
	int64_t around_ns = advice_around_calls(profile, count);
	int64_t beyond = beyond_host(profile, around_ns);

	if (ns <= 0)
		return ns;
	ns = bound != NULL ? advice_least(ns, bound->saves_ns) : ns;
	ns = profile_add(profile_add(ns, around_ns), latencies(profile, count));
	return beyond >= 0 ? advice_least(ns, beyond) : ns;
}

int64_t advice_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

bool advice_is_wanted(const struct profile *profile, const struct advice_list *list,
		      int64_t saves_ns)
{
	/* Times in the calls of several threads add up to more than can be saved. */
	bool is_known = saves_ns <= profile->wall_ns || profile_has_split(profile) ||
			profile->host.threads == 1;

	return saves_ns > 0 && is_known &&
	       (list->count < ADVICE_MOST || list->items[ADVICE_MOST - 1].saves_ns < saves_ns);
}

void advice_add(const struct profile *profile, struct advice_list *list,
		const struct advice *advice)
{
	struct advice added = *advice;
	const char **texts[] = { &added.what, &added.where, &added.how, &added.assumes };
	size_t at = list->count;

	if (!advice_is_wanted(profile, list, added.saves_ns))
		return;
	added.saves_ns = advice_least(added.saves_ns, profile->wall_ns);
	for (size_t i = 0; i < HP_LEN(texts); i++)
		*texts[i] = *texts[i] != NULL ? *texts[i] : "";
	while (at > 0 && list->items[at - 1].saves_ns < added.saves_ns)
		at--;
	if (at == ADVICE_MOST)
		return;
	list->count += list->count < ADVICE_MOST;
	memmove(&list->items[at + 1], &list->items[at],
		(list->count - 1 - at) * sizeof(list->items[0]));
	list->items[at] = added;
}

bool advice_is_worth(const struct profile *profile, const struct advice *advice)
{
	return (__int128_t)advice->saves_ns * 100 >= profile->wall_ns;
}

const char *advice_nothing(const struct advice_list *list)
{
	return list->is_done ? "This port is done: no change is known that would save 1 %."
			     : "No change is known that would save 1 %.";
}

static bool is_part(int64_t ns, int64_t percent, const struct profile *profile)
{
	return ns >= 0 && (__int128_t)ns * 100 >= (__int128_t)profile->wall_ns * percent;
}

/* Adds a clause to a sentence. */
static void add_clause(const char **sentence, const char *clause)
{
	*sentence = text_made("%s%s%s", *sentence, (*sentence)[0] != '\0' ? "; " : "", clause);
}

/* Says that most of the time in copy calls is waits, if their bytes cannot explain it. */
static void say_waits(const struct profile *profile, struct advice_list *list)
{
	const char *view = profile_view(profile);
	const struct profile_transfer up = profile_moved(profile, view, "h2d"),
				      down = profile_moved(profile, view, "d2h");
	int64_t bytes = profile_add(up.bytes, down.bytes), ns = profile->host.copy_calls_ns;
	int64_t copying_ns =
		advice_copying_ns(profile, ns, bytes, profile_add(up.count, down.count));

	if (bytes > 0 && copying_ns <= ns / 2 && is_part(ns, 5, profile))
		add_clause(&list->left,
			   text_made("calls that copy %s take %s, probably because they wait for "
				     "kernels",
				     text_bytes(bytes), text_time(ns)));
}

/* Names the time that no change saves, if it is 5 % of the wall time. */
static void say_left(const struct profile *profile, struct advice_list *list,
		     const struct advice_host *host)
{
	int64_t startup_ns = profile->split.startup_ns;
	int64_t kernel_ns = profile_add(profile->split.kernel_ns, profile->split.overlap_ns);
	int64_t waits_ns = profile->host.waiting_for_kernels_ns;

	/* A copy that waits for kernels looks slow, so this is said first. */
	say_waits(profile, list);
	if (is_part(kernel_ns, 5, profile))
		add_clause(&list->left,
			   text_made("kernels take %s (%s)%s; use a kernel profiler to optimize "
				     "them",
				     text_time(kernel_ns), text_share(kernel_ns, profile->wall_ns),
				     is_part(waits_ns, 5, profile)
					     ? text_made(", and copies wait %s for them",
							 text_time(waits_ns))
					     : ""));
	if (is_part(startup_ns, 5, profile))
		add_clause(&list->left,
			   text_made("CUDA start-up takes %s (%s), which no port removes",
				     text_time(startup_ns),
				     text_share(startup_ns, profile->wall_ns)));
	if (is_part(host->import_ns, 5, profile))
		add_clause(&list->left,
			   text_made("imports of Python modules take %s of CPU time (%s) after the "
				     "first CUDA call",
				     text_time(host->import_ns),
				     text_share(host->import_ns, profile->wall_ns)));
}

/* Returns why host code was not sampled; NULL if it was.  A shell may have no sample. */
static const char *why_unsampled(const struct profile *profile)
{
	if (profile->sample_count > 0 ||
	    (profile_used_no_device(profile) && profile->sampling.hz > 0 &&
	     profile->sampling.why == NULL))
		return NULL;
	return profile->sampling.why != NULL ? profile->sampling.why : "it was not sampled";
}

/*
 * Says why a program without a device took time in which it ran no code of its own.  False: it ran
 * nearly all of the time.
 */
static bool say_idle(const struct profile *profile, struct advice_list *list,
		     const struct advice_host *host)
{
	int64_t idle_ns = profile->wall_ns - advice_least(host->busy_ns, profile->wall_ns);
	int64_t waits_ns = advice_least(profile->process.cpu_wait_ns, idle_ns);

	if (!profile_used_no_device(profile) || !is_part(idle_ns, 10, profile))
		return false;
	if (waits_ns > idle_ns / 2)
		add_clause(&list->left,
			   text_made("the first thread waited %s (%s) for a CPU, since others ran",
				     text_time(waits_ns), text_share(waits_ns, profile->wall_ns)));
	else
		list->blind = text_made(
			"what takes %s: the program ran no code of its own then; it was in the "
			"kernel, or waited for %sa file or a program that it had started, which "
			"`hotpin run` can profile instead",
			text_time(idle_ns), waits_ns < 0 ? "a CPU, " : "");
	return true;
}

/* Says how much of the host code has no known place. */
static void say_unknown(const struct profile *profile, struct advice_list *list,
			const struct advice_host *host)
{
	int64_t known_ns = profile_add(host->own_ns, host->import_ns);
	int64_t unknown_ns =
		profile->split.host_ns - advice_least(known_ns, profile->split.host_ns);
	int64_t before_ns = advice_least(host->before_ns, unknown_ns);
	bool is_before = is_part(before_ns, 5, profile);
	bool is_lost = is_part(host->library_ns, 5, profile) && !host->is_python;

	if (known_ns >= profile->split.host_ns / 2)
		return;
	if (is_before && !is_part(unknown_ns - before_ns, 1, profile)) {
		list->blind = text_made(
			"what %s of host code does: it came before the first CUDA call, where "
			"sampling begins",
			text_time(unknown_ns));
		return;
	}
	list->blind = text_made(
		"what %s of host code does: %s has no samples in %s%s", text_time(unknown_ns),
		is_before ? text_made("%s of it came before the first CUDA call, where sampling "
				      "begins; the rest",
				      text_time(before_ns))
			  : "it",
		host->is_python ? "Python lines that could be ported" : "functions of the program",
		is_lost ? text_made(
				  "; C and C++ libraries used %s, and their callers are not known",
				  text_time(host->library_ns))
			: "");
}

/* Says that the same buffers are uploaded often: only a hash tells whether their data changes. */
static void say_unhashed(const struct profile *profile, struct advice_list *list)
{
	int64_t count = 0, ns = 0;

	for (size_t i = 0; !profile->repeats.known && i < profile->buffer_count; i++) {
		const struct profile_buffer *buffer = &profile->buffers[i];

		/* Only large copies are hashed. */
		if (strcmp(buffer->kind, "other") == 0 || buffer->h2d.count < UPLOADS_LEAST ||
		    profile_add(buffer->round_trips.count, buffer->follows.count) >=
			    buffer->h2d.count / 2 ||
		    buffer->h2d.bytes / buffer->h2d.count < HASHED_BYTES)
			continue;
		count = profile_add(count, buffer->h2d.count);
		ns = profile_add(ns, buffer->h2d.host_ns);
	}
	if (count > 0 && is_part(ns, 5, profile))
		add_clause(
			&list->blind,
			text_made("whether %lld uploads of the same buffers (%s) carry unchanged "
				  "data: run it with HOTPIN_HASH=1",
				  (long long)count, text_time(ns)));
}

static void say_blind(const struct profile *profile, struct advice_list *list,
		      const struct advice_host *host)
{
	const char *why = why_unsampled(profile);
	int64_t host_ns = profile->split.host_ns;

	if (!profile_has_split(profile))
		list->blind = "how much of the wall time most changes could save (it is not split)";
	else if (is_part(host_ns, 10, profile) && why != NULL && !host->is_python)
		list->blind = text_made("which functions take the %s of host code (%s)",
					text_time(host_ns), text_name(why, 120));
	else if (is_part(host_ns, 10, profile) && !say_idle(profile, list, host))
		say_unknown(profile, list, host);
}

/* True if the rest is start-up and kernels, and no known change is worth its effort. */
static bool is_done(const struct profile *profile, const struct advice_list *list)
{
	int64_t left = profile_add(profile_add(profile->split.startup_ns, profile->split.kernel_ns),
				   profile->split.overlap_ns);

	return profile_has_split(profile) && !profile_used_no_device(profile) &&
	       list->blind[0] == '\0' && is_part(left, 60, profile) &&
	       (list->count == 0 || !advice_is_worth(profile, &list->items[0]));
}

void advice_make(const struct profile *profile, struct advice_list *ret)
{
	struct advice_host host;

	*ret = (struct advice_list){ .left = "", .blind = "" };
	/* A failing program must be fixed before it is ported or tuned. */
	if (profile->process.exit_status > 0 || profile->wall_ns <= 0)
		return;
	advice_host_read(profile, &host);
	/* Before any port, all is host code, and transfers mean nothing. */
	advice_port(profile, ret, &host);
	if (!profile_used_no_device(profile)) {
		advice_keep(profile, ret);
		advice_copies(profile, ret);
		advice_calls(profile, ret);
		advice_port_between(profile, ret, &host);
	}
	say_left(profile, ret, &host);
	say_blind(profile, ret, &host);
	say_unhashed(profile, ret);
	ret->is_done = is_done(profile, ret);
}
