/*
 * trace_write.c - writes timelines for chrome://tracing and ui.perfetto.dev.
 *
 * Several files are aligned by the host's clock if they are of one host, otherwise by the time of
 * day.
 */
#include "show/trace_write.h"
#include "system/messages.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

/* Above every number that Linux gives to a process or thread: 2^22 at most. */
#define DEVICE_PID   10000000
#define SUBTRACK_TID 20000000
#define DEVICES      1000 /* device numbers for each file */
#define TEXT_MOST    300

void trace_begin_event(struct trace_output *output)
{
	fputs(output->any ? ",\n" : "\n", output->to);
	output->any = true;
}

void trace_microseconds(FILE *to, const char *name, int64_t ns)
{
	fprintf(to, ",\"%s\":%lld.%03lld", name, (long long)ns / 1000, (long long)ns % 1000);
}

void trace_at(struct trace_output *output, int64_t ns)
{
	trace_microseconds(output->to, "ts", output->offset_ns + ns);
}

json_t *trace_text(const char *text)
{
	/* Those of a timeline are too many to be kept. */
	char shown[TEXT_BYTES(TEXT_MOST) + 3];

	return json_string(units_escape(shown, sizeof(shown), text, TEXT_MOST));
}

void trace_put(struct trace_output *output, json_t *value)
{
	json_dumpf(value, output->to,
		   JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
	json_decref(value);
}

void trace_name_track(struct trace_output *output, const char *what, int64_t pid, int64_t tid,
		      const char *name, int64_t order)
{
	trace_begin_event(output);
	fprintf(output->to,
		"{\"ph\":\"M\",\"name\":\"%s_name\",\"pid\":%lld,\"tid\":%lld,\"args\":{\"name\":",
		what, (long long)pid, (long long)tid);
	trace_put(output, trace_text(name));
	fputs("}}", output->to);
	trace_begin_event(output);
	fprintf(output->to,
		"{\"ph\":\"M\",\"name\":\"%s_sort_index\",\"pid\":%lld,\"tid\":%lld,"
		"\"args\":{\"sort_index\":%lld}}",
		what, (long long)pid, (long long)tid, (long long)order);
}

bool trace_is_stream(const struct profile_track *track)
{
	return strcmp(track->kind, "stream") == 0;
}

int64_t trace_pid(const struct trace_output *output, const struct profile_track *track)
{
	int64_t device = track->device > 0 && track->device < DEVICES ? track->device : 0;

	return trace_is_stream(track) ? DEVICE_PID + output->file * DEVICES + device : output->pid;
}

static int by_track(const void *left, const void *right)
{
	const struct profile_event *a = left, *b = right;

	return sorted_numbers(a->track, b->track) ?: sorted_numbers(a->start_ns, b->start_ns)
		?: sorted_numbers(b->duration_ns, a->duration_ns);
}

/* Names a file's process or device; the order keeps those of a file together. */
static void name_process(struct trace_output *output, int64_t pid, const char *name, int64_t order)
{
	trace_name_track(output, "process", pid, 0, text_made("%s%s", output->prefix, name),
			 output->file * (DEVICES + 1) + order);
}

static void name_processes(struct trace_output *output)
{
	const struct profile *profile = output->profile;
	const char *model = profile->environment.device;
	bool named[DEVICES] = { false };

	name_process(
		output, output->pid,
		text_made("%s%s", text_name(profile->process.program, 40),
			  text_if(profile->stage != NULL, ": %s", text_name(profile->stage, 80))),
		0);
	for (size_t i = 0; i < profile->events.track_count; i++) {
		int64_t pid = trace_pid(output, &profile->events.tracks[i]), device = pid % DEVICES;

		if (!trace_is_stream(&profile->events.tracks[i]) || named[device])
			continue;
		named[device] = true;
		name_process(output, pid,
			     text_made("device %lld%s", (long long)device,
				       text_if(model != NULL, ", %s", text_name(model, 60))),
			     1 + device);
	}
}

/* Says this on stderr, and in the trace where the process begins. */
static void tell(struct trace_output *output, const char *what)
{
	hotpin_say("%s%s", output->prefix, what);
	trace_begin_event(output);
	fprintf(output->to,
		"{\"ph\":\"i\",\"s\":\"p\",\"cat\":\"note\",\"pid\":%lld,\"tid\":0,\"name\":",
		(long long)output->pid);
	trace_put(output, trace_text(what));
	trace_at(output, 0);
	fputs("}", output->to);
}

static void tell_dropped(struct trace_output *output)
{
	const struct profile_events *events = &output->profile->events;
	int64_t trackless = events->trackless > 0 ? events->trackless : 0;

	if (output->left_out > 0)
		tell(output,
		     text_made("%zu events are left out: too many overlap", output->left_out));
	if (events->dropped > trackless)
		tell(output, text_made("%s events were not recorded: those shorter than %s",
				       text_count(events->dropped - trackless),
				       text_time(events->shortest_ns)));
	if (trackless > 0)
		tell(output, text_made("%s events were not recorded: too many threads or streams",
				       text_count(trackless)));
}

/* Writes the file that `output` is set to. */
static void write_file(struct trace_output *output)
{
	struct profile *profile = output->profile;
	size_t count = profile->events.row_count;

	output->left_out = 0;
	output->tids = profile_allocate(profile, count, sizeof(*output->tids));
	output->sites = profile_allocate(profile, profile->site_count, sizeof(*output->sites));
	output->buffers =
		profile_allocate(profile, profile->buffer_count, sizeof(*output->buffers));
	name_processes(output);
	if (count > 0)
		qsort(profile->events.rows, count, sizeof(*profile->events.rows), by_track);
	trace_slices(output);
	trace_arrows(output);
	tell_dropped(output);
}

/* Writes when each program began, relative to the first one; the list is all zeros before. */
static void find_offsets(const struct profile *profiles, size_t count, int64_t *ret_ns)
{
	const char *host = profiles[0].process.host;
	int64_t first_ns = INT64_MAX;
	bool one_host = true;

	for (size_t i = 0; i < count; i++) {
		const struct profile_process *process = &profiles[i].process;

		if (process->began_ns < 0 || process->began_unix_ns < 0) {
			if (count > 1)
				hotpin_say("%s does not say when its program began, so all files "
					   "begin at the same time",
					   text_name(profiles[i].path, 200));
			return;
		}
		one_host &= count == 1 || (host != NULL && process->host != NULL &&
					   strcmp(host, process->host) == 0);
	}
	for (size_t i = 0; i < count; i++) {
		ret_ns[i] =
			one_host ? profiles[i].process.began_ns : profiles[i].process.began_unix_ns;
		first_ns = ret_ns[i] < first_ns ? ret_ns[i] : first_ns;
	}
	for (size_t i = 0; i < count; i++)
		ret_ns[i] -= first_ns;
}

/* A viewer merges processes of the same id, as on other hosts, so a duplicate gets another id. */
static int64_t pid_among(const struct profile *profiles, size_t file)
{
	int64_t pid = profiles[file].process.pid;

	for (size_t i = 0; i < file; i++)
		if (profiles[i].process.pid == pid)
			pid = 0;
	return pid > 0 && pid < DEVICE_PID ? pid : DEVICE_PID - 1 - (int64_t)file;
}

/* Returns the text before the names of a file's processes; "" if there is only one file. */
static const char *prefix_of(struct profile *profile, size_t count)
{
	const char *rank = profile->process.rank;

	if (count == 1)
		return "";
	return rank != NULL ? text_made("rank %s: ", text_name(rank, 40))
			    : text_made("%s: ", text_name(profile->path, 100));
}

void trace_write(FILE *to, struct profile *profiles, size_t count)
{
	struct trace_output output = { .to = to, .next_tid = SUBTRACK_TID };
	int64_t *offsets_ns = profile_allocate(&profiles[0], count, sizeof(*offsets_ns));
	int64_t dropped = 0;

	find_offsets(profiles, count, offsets_ns);
	for (size_t i = 0; i < count; i++)
		dropped = profile_add(dropped, profiles[i].events.dropped);
	fprintf(to,
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"writer\":\"hotpin %s\","
		"\"dropped\":%lld},\"traceEvents\":[",
		HOTPIN_VERSION, (long long)dropped);
	for (size_t i = 0; i < count; i++) {
		output.profile = &profiles[i];
		output.file = (int64_t)i;
		output.pid = pid_among(profiles, i);
		output.offset_ns = offsets_ns[i];
		output.prefix = prefix_of(&profiles[i], count);
		write_file(&output);
	}
	fputs("\n]}\n", to);
}
