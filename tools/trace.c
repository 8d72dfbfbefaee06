/*
 * trace.c - `hotpin trace`: the timeline for chrome://tracing and ui.perfetto.dev.
 *
 * Slices of one track must nest: Perfetto before 57 silently drops what does not
 * (github.com/google/perfetto/issues/4280).  Operations on one stream overlap where graphs or
 * dependent launches let them, and so do a thread's calls where clocks are a little off; what does
 * not nest gets a lane of its own.  An arrow begins in the slice that lies on its track at that
 * time.
 */
#include "flows.h"
#include "hotpin.h"
#include "names.h"
#include "progress.h"
#include "show.h"
#include "target.h"
#include "base/parse.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES_MOST 64
#define DEPTH_MOST 64

/* Above every number that Linux gives: 2^22 at most. */
#define DEVICE_PID 10000000
#define LANE_TID   20000000

struct lane {
	int64_t tid;
	int64_t ends[DEPTH_MOST]; /* of the slices that are open */
	int depth;
};

struct output {
	FILE *to;
	const char **names; /* of events, as JSON */
	int64_t pid;        /* of the process */
	int64_t next_tid;
	int64_t *tids;   /* by row: the lane it is in; 0: none */
	bool any;        /* an event was written */
	size_t left_out; /* for want of lanes */
};

static void begin_event(struct output *output)
{
	fputs(output->any ? ",\n" : "\n", output->to);
	output->any = true;
}

/* As JSON, in ASCII; in the profile's memory. */
static const char *quoted(struct profile *profile, const char *text)
{
	json_t *value = json_string(text);
	char *made = value != NULL ? json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
	char *copy = profile_allocate(profile, made != NULL ? strlen(made) + 1 : 4, 1);

	strcpy(copy, made != NULL ? made : "\"?\"");
	free(made);
	json_decref(value);
	return copy;
}

static void name_track(struct output *output, const char *what, int64_t pid, int64_t tid,
		       const char *name, int64_t order)
{
	begin_event(output);
	fprintf(output->to,
		"{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%lld,\"tid\":%lld,\"args\":{\"name\":%s}}",
		what, (long long)pid, (long long)tid, name);
	begin_event(output);
	fprintf(output->to,
		"{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%lld,\"tid\":%lld,"
		"\"args\":{\"sort_index\":%lld}}",
		what, (long long)pid, (long long)tid, (long long)order);
}

static bool is_stream(const struct profile_track *track)
{
	return strcmp(track->kind, "stream") == 0;
}

static int64_t pid_of(const struct output *output, const struct profile_track *track)
{
	if (!is_stream(track))
		return output->pid;
	return DEVICE_PID + (track->device > 0 && track->device < 1000 ? track->device : 0);
}

static void name_lane(struct output *output, struct profile *profile, size_t track, int lane,
		      int64_t tid)
{
	const struct profile_track *of = &profile->events.tracks[track];
	char name[SHOW_BYTES(40) + 64], number[32] = "", more[32] = "";

	if (lane > 0)
		snprintf(number, sizeof(number), " (lane %d)", lane + 1);
	if (is_stream(of)) {
		snprintf(name, sizeof(name), "stream %s of context %s%s", show_count(of->stream),
			 show_count(of->context), number);
	} else if (strcmp(of->kind, "stages") == 0) {
		snprintf(name, sizeof(name), "stages%s", number);
	} else {
		if (of->threads > 1)
			snprintf(more, sizeof(more), " (%s threads)", show_count(of->threads));
		snprintf(name, sizeof(name), "%s%s%s",
			 of->name != NULL ? show_text(of->name, 40) : "thread", more, number);
	}
	/* Stages above threads. */
	int64_t order = (int64_t)track * LANES_MOST + lane +
			(strcmp(of->kind, "stages") == 0 ? 0 : 1000000);
	name_track(output, "thread", pid_of(output, of), tid, quoted(profile, name), order);
}

static void microseconds(FILE *to, const char *name, int64_t ns)
{
	fprintf(to, ",\"%s\":%lld.%03lld", name, (long long)ns / 1000, (long long)ns % 1000);
}

static void write_slice(struct output *output, const struct profile_event *event, int64_t pid,
			int64_t tid, const char *site)
{
	static const char *const kinds[PROFILE_EVENT_COUNT] = {
		[PROFILE_KERNEL] = "kernel", [PROFILE_COPY] = "copy",
		[PROFILE_MEMSET] = "memset", [PROFILE_COPY_CALL] = "copy call",
		[PROFILE_WAIT] = "wait",     [PROFILE_STAGE] = "stage",
	};

	begin_event(output);
	fprintf(output->to, "{\"ph\":\"X\",\"name\":%s,\"cat\":\"%s\",\"pid\":%lld,\"tid\":%lld",
		event->name >= 0 ? output->names[event->name] : "\"?\"",
		event->kind < PROFILE_EVENT_COUNT ? kinds[event->kind] : "other", (long long)pid,
		(long long)tid);
	microseconds(output->to, "ts", event->start_ns);
	microseconds(output->to, "dur", event->duration_ns);
	fputs(",\"args\":{", output->to);
	if (event->bytes >= 0)
		fprintf(output->to, "\"bytes\":%lld", (long long)event->bytes);
	if (event->bytes > 0 && event->duration_ns > 0 && event->kind == PROFILE_COPY)
		fprintf(output->to, ",\"GB/s\":%s", show_rate(event->bytes, event->duration_ns));
	if (site != NULL)
		fprintf(output->to, "%s\"called from\":%s", event->bytes >= 0 ? "," : "", site);
	fputs("}}", output->to);
}

/* May the slice lie in the lane, above what is open there?  Streams have nothing inside others. */
static bool fits(struct lane *lane, const struct profile_event *event, bool nests)
{
	while (lane->depth > 0 && lane->ends[lane->depth - 1] <= event->start_ns)
		lane->depth--;
	if (lane->depth == 0)
		return true;
	return nests && lane->depth < DEPTH_MOST &&
	       event->start_ns + event->duration_ns <= lane->ends[lane->depth - 1];
}

/* All events of one track, by start, the longer first. */
static void write_track(struct output *output, struct profile *profile,
			const struct profile_event *events, size_t count, const char **sites)
{
	const struct profile_track *track = &profile->events.tracks[events->track];
	struct lane *lanes = calloc(LANES_MOST, sizeof(*lanes));
	int used = 0;

	for (size_t i = 0; i < count && lanes != NULL; i++) {
		const struct profile_event *event = &events[i];
		int lane = 0;

		while (lane < used && !fits(&lanes[lane], event, !is_stream(track)))
			lane++;
		if (lane == LANES_MOST) {
			output->left_out++;
			continue;
		}
		if (lane == used) {
			bool own = lane == 0 && !is_stream(track) && track->tid > 0;

			lanes[lane].tid = own ? track->tid : output->next_tid++;
			name_lane(output, profile, (size_t)events->track, lane, lanes[lane].tid);
			used++;
		}
		lanes[lane].ends[lanes[lane].depth++] = event->start_ns + event->duration_ns;
		output->tids[event - profile->events.rows] = lanes[lane].tid;
		write_slice(output, event, pid_of(output, track), lanes[lane].tid,
			    event->site >= 0 ? sites[event->site] : NULL);
		progress_show("writing the timeline", (uint64_t)(event - profile->events.rows),
			      profile->events.row_count);
	}
	free(lanes);
}

static int by_track(const void *left, const void *right)
{
	const struct profile_event *a = left, *b = right;

	if (a->track != b->track)
		return a->track < b->track ? -1 : 1;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->duration_ns != b->duration_ns)
		return a->duration_ns > b->duration_ns ? -1 : 1;
	return 0;
}

struct step {
	int64_t at_ns, kb_per_s;
};

static int by_time(const void *left, const void *right)
{
	const struct step *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->kb_per_s < b->kb_per_s ? -1 : a->kb_per_s > b->kb_per_s;
}

/* What crosses the bus in one direction, as a curve. */
static void write_counter(struct output *output, const struct profile *profile,
			  const char *direction)
{
	struct step *steps = calloc(profile->events.row_count * 2 + 1, sizeof(*steps));
	size_t used = 0;
	int64_t sum = 0;

	for (size_t i = 0; i < profile->events.row_count && steps != NULL; i++) {
		const struct profile_event *event = &profile->events.rows[i];

		if (event->kind != PROFILE_COPY || event->name < 0 || event->bytes <= 0 ||
		    event->duration_ns <= 0 ||
		    strncmp(profile->events.names[event->name], direction, 3) != 0)
			continue;
		__int128_t rate = (__int128_t)event->bytes * 1000000 / event->duration_ns;
		/* More than any bus: no sum of these wraps. */
		int64_t kb_per_s = rate < 1000000000000 ? (int64_t)rate : 1000000000000;
		steps[used++] = (struct step){ event->start_ns, kb_per_s };
		steps[used++] = (struct step){ event->start_ns + event->duration_ns, -kb_per_s };
	}
	if (used > 0)
		qsort(steps, used, sizeof(*steps), by_time);
	for (size_t i = 0; i < used; i++) {
		sum += steps[i].kb_per_s;
		if (i + 1 < used && steps[i + 1].at_ns == steps[i].at_ns)
			continue;
		begin_event(output);
		fprintf(output->to, "{\"ph\":\"C\",\"name\":\"%s GB/s\",\"pid\":%d,\"tid\":0",
			show_direction(direction), DEVICE_PID);
		microseconds(output->to, "ts", steps[i].at_ns);
		fprintf(output->to, ",\"args\":{\"GB/s\":%lld.%06lld}}", (long long)sum / 1000000,
			(long long)sum % 1000000);
	}
	free(steps);
}

/* One end of an arrow, where its slice begins. */
static void write_end(struct output *output, const struct profile *profile, size_t row,
		      const char *end, size_t number)
{
	const struct profile_event *event = &profile->events.rows[row];

	begin_event(output);
	fprintf(output->to,
		"{\"ph\":%s,\"name\":\"copy\",\"cat\":\"copy\",\"id\":%zu,\"pid\":%lld,\"tid\":%lld",
		end, number, (long long)pid_of(output, &profile->events.tracks[event->track]),
		(long long)output->tids[row]);
	microseconds(output->to, "ts", event->start_ns);
	fputs("}", output->to);
}

/* From calls to what the device did for them. */
static void write_flows(struct output *output, const struct profile *profile)
{
	size_t *calls = flows_find(profile), number = 0;

	for (size_t row = 0; row < profile->events.row_count && calls != NULL; row++) {
		if (calls[row] == SIZE_MAX || output->tids[row] == 0 ||
		    output->tids[calls[row]] == 0)
			continue;
		number++;
		write_end(output, profile, calls[row], "\"s\"", number);
		write_end(output, profile, row, "\"f\",\"bp\":\"e\"", number);
	}
	free(calls);
}

static void name_processes(struct output *output, struct profile *profile)
{
	bool named[1000] = { false };
	char name[SHOW_BYTES(40 + 2 + 80)];

	snprintf(name, sizeof(name), "%s%s%s", show_text(profile->process.program, 40),
		 profile->stage != NULL ? ": " : "",
		 profile->stage != NULL ? show_text(profile->stage, 80) : "");
	name_track(output, "process", output->pid, 0, quoted(profile, name), 0);
	for (size_t i = 0; i < profile->events.track_count; i++) {
		int64_t pid = pid_of(output, &profile->events.tracks[i]);

		if (!is_stream(&profile->events.tracks[i]) || named[pid - DEVICE_PID])
			continue;
		named[pid - DEVICE_PID] = true;
		snprintf(name, sizeof(name), "device %lld%s%s", (long long)pid - DEVICE_PID,
			 profile->environment.device != NULL ? ", " : "",
			 profile->environment.device != NULL
				 ? show_text(profile->environment.device, 60)
				 : "");
		name_track(output, "process", pid, 0, quoted(profile, name), 1 + pid - DEVICE_PID);
	}
}

static const char **quote_sites(struct profile *profile)
{
	const char **sites = profile_allocate(profile, profile->site_count, sizeof(*sites));
	char place[512];

	for (size_t i = 0; i < profile->site_count; i++) {
		const struct profile_frames *frames = &profile->sites[i].frames;

		names_place(profile, names_frame(profile, frames, false), place, sizeof(place));
		sites[i] = quoted(profile, show_text(place, 300));
	}
	return sites;
}

static void write_trace(FILE *to, struct profile *profile)
{
	struct output output = { .to = to, .next_tid = LANE_TID };
	size_t count = profile->events.row_count;
	const char **sites = quote_sites(profile);

	/* Another process of the viewer's would be mixed up with a device. */
	output.pid = profile->process.pid > 0 && profile->process.pid < DEVICE_PID
			     ? profile->process.pid
			     : 1;
	output.names = profile_allocate(profile, profile->events.name_count, sizeof(char *));
	output.tids = profile_allocate(profile, count, sizeof(*output.tids));
	for (size_t i = 0; i < profile->events.name_count; i++)
		output.names[i] = quoted(profile, show_text(profile->events.names[i], 300));
	fprintf(to,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"writer\":\"hotpin %s\","
		"\"dropped\":%lld,\"shortest_ns\":%lld},\"traceEvents\":[",
		HOTPIN_VERSION, (long long)profile->events.dropped,
		(long long)profile->events.shortest_ns);
	name_processes(&output, profile);
	qsort(profile->events.rows, count, sizeof(*profile->events.rows), by_track);
	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && profile->events.rows[end].track ==
							     profile->events.rows[begin].track;)
			end++;
		write_track(&output, profile, profile->events.rows + begin, end - begin, sites);
	}
	write_flows(&output, profile);
	write_counter(&output, profile, "h2d");
	write_counter(&output, profile, "d2h");
	fputs("\n]}\n", to);
	progress_clear();
	if (output.left_out > 0)
		hotpin_say("%zu events are left out: more than %d overlap", output.left_out,
			   LANES_MOST);
	int64_t trackless = profile->events.trackless > 0 ? profile->events.trackless : 0;
	if (profile->events.dropped > trackless)
		hotpin_say("%s events were not recorded: those shorter than %s",
			   show_count(profile->events.dropped - trackless),
			   show_time(profile->events.shortest_ns));
	if (trackless > 0)
		hotpin_say("%s events were not recorded: there were too many threads or streams",
			   show_count(trackless));
}

/* False: there is no timeline, which has been said. */
static bool write_timeline(FILE *to, struct profile *profile)
{
	if (!profile->events.known) {
		hotpin_say("%s holds no timeline: run the program with --profile=trace",
			   show_text(profile->path, 200));
		return false;
	}
	names_resolve(profile, 1, true);
	write_trace(to, profile);
	return true;
}

int hotpin_trace(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "out", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = NULL;
	struct profile profile;
	int option;

	while ((option = getopt_long(argc, argv, "ho:", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("trace");
		if (option == '?')
			return hotpin_misused("trace");
		path = optarg;
	}
	if (optind + 1 != argc) {
		hotpin_say(optind == argc ? "no profile to read" : "one profile at a time");
		return hotpin_misused("trace");
	}
	/* First: what cannot be written should not be read, either. */
	struct target target;
	if (target_open(&target, path, argv + optind, 1) < 0)
		return EXIT_FAILURE;
	bool opened = profile_open(argv[optind], &profile) == 0;
	bool written = opened && write_timeline(target.to, &profile);
	if (opened)
		profile_close(&profile);
	if (!written) {
		target_drop(&target);
		return EXIT_FAILURE;
	}
	return target_close(&target) < 0 ? EXIT_FAILURE : 0;
}
