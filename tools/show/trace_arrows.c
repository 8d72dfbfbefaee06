/*
 * trace_arrows.c - writes the arrows of `hotpin trace`, from a call to each copy that it made.
 *
 * CUPTI says since CUDA 12.4 when and in which thread a copy was called.
 */
#include "show/trace_write.h"

#include <string.h>

/* The error of a call's time as CUPTI states it is smaller. */
#define TOLD_NS 2000

/* No more events of a thread begin while it is in one call. */
#define AT_ONCE 64

/* Returns "h2d .." of a copy, and of a call for it. */
static const char *direction_of(const struct profile *profile, const struct profile_event *event)
{
	const char *name = event->name >= 0 ? profile->events.names[event->name] : "";

	return event->kind == PROFILE_COPY_CALL && strncmp(name, "copy ", 5) == 0 ? name + 5 : name;
}

/*
 * Returns the time between `call` and the moment at which CUPTI says `copy` was called; 0: inside.
 */
static int64_t distance(const struct profile_event *call, const struct profile_event *copy)
{
	int64_t end_ns = call->start_ns + call->duration_ns;

	if (copy->call_ns < call->start_ns)
		return call->start_ns - copy->call_ns;
	return copy->call_ns > end_ns ? copy->call_ns - end_ns : 0;
}

/* Returns the number of rows before the first one that began on that track after that time. */
static size_t rows_until(const struct profile_events *events, int64_t track, int64_t ns)
{
	size_t low = 0, high = events->row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct profile_event *event = &events->rows[middle];

		if (event->track < track || (event->track == track && event->start_ns <= ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the row of the call that made `copy` according to CUPTI; SIZE_MAX: it is missing. */
static size_t call_told(const struct profile *profile, const struct profile_event *copy)
{
	const struct profile_event *rows = profile->events.rows;
	size_t end = rows_until(&profile->events, copy->call_track, copy->call_ns + TOLD_NS);
	size_t found = SIZE_MAX;

	for (size_t i = end; i-- > 0 && end - i < AT_ONCE && rows[i].track == copy->call_track;)
		if (rows[i].kind == PROFILE_COPY_CALL &&
		    strncmp(direction_of(profile, &rows[i]), direction_of(profile, copy), 3) == 0 &&
		    distance(&rows[i], copy) <= TOLD_NS &&
		    (found == SIZE_MAX || distance(&rows[i], copy) < distance(&rows[found], copy)))
			found = i;
	return found;
}

/* Writes one end of an arrow, at the start of its slice. */
static void write_end(struct trace_output *output, size_t row, const char *end)
{
	const struct profile_event *event = &output->profile->events.rows[row];
	const struct profile_track *track = &output->profile->events.tracks[event->track];

	trace_begin_event(output);
	fprintf(output->to,
		"{\"ph\":%s,\"name\":\"work\",\"cat\":\"work\",\"id\":%zu,\"pid\":%lld,\"tid\":%lld",
		end, output->arrows, (long long)trace_pid(output, track),
		(long long)output->tids[row]);
	trace_at(output, event->start_ns);
	fputs("}", output->to);
}

void trace_arrows(struct trace_output *output)
{
	const struct profile_events *events = &output->profile->events;

	for (size_t row = 0; row < events->row_count; row++) {
		const struct profile_event *event = &events->rows[row];
		bool is_told = event->kind == PROFILE_COPY && event->call_track >= 0 &&
			       event->call_ns >= 0;
		size_t call = is_told ? call_told(output->profile, event) : SIZE_MAX;

		if (call == SIZE_MAX || output->tids[row] == 0 || output->tids[call] == 0)
			continue;
		output->arrows++;
		write_end(output, call, "\"s\"");
		write_end(output, row, "\"f\",\"bp\":\"e\"");
	}
}
