/*
 * trace_slices.c - writes the slices of `hotpin trace`.
 *
 * Slices of one track must nest: Perfetto before 57 silently drops others
 * (github.com/google/perfetto/issues/4280).  Operations on one stream overlap in graphs and with
 * dependent launches.  Calls of one thread overlap if clocks differ a little.  So a slice that does
 * not nest gets another subtrack.  An arrow begins in the slice that its track has at that time.
 */
#include "names/names.h"
#include "profile/texts.h"
#include "show/trace_write.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

#define SUBTRACKS_MOST 64
#define DEPTH_MOST     64
#define PLACE_MOST     500 /* characters */

struct subtrack {
	int64_t tid;
	int64_t ends[DEPTH_MOST]; /* of the open slices */
	int depth;
};

/* Returns the name of a track. */
static const char *name_of(const struct profile_track *track)
{
	if (trace_is_stream(track))
		return text_made("stream %s of context %s", text_count(track->stream),
				 text_count(track->context));
	if (strcmp(track->kind, "ranges") == 0 || strcmp(track->kind, "hotpin") == 0)
		return track->kind;
	if (strcmp(track->kind, "samples") == 0)
		return text_made("host code of %lld", (long long)track->tid);
	return text_made("%s%s", track->name != NULL ? text_name(track->name, 40) : "thread",
			 text_if(track->threads > 1, " (%s threads)", text_count(track->threads)));
}

static void name_subtrack(struct trace_output *output, size_t track, int subtrack, int64_t tid)
{
	const struct profile_track *of = &output->profile->events.tracks[track];
	const char *name = name_of(of);
	/* Stages appear above threads. */
	int64_t order = (int64_t)track * SUBTRACKS_MOST + subtrack +
			(strcmp(of->kind, "ranges") == 0 ? 0 : 1000000);

	trace_name_track(output, "thread", trace_pid(output, of), tid,
			 subtrack > 0 ? text_made("%s (row %d)", name, subtrack + 1) : name, order);
}

static json_t *shape_of(const struct profile_shape *shape)
{
	const int64_t *grid = shape->grid, *block = shape->block;

	return json_pack("{s:o,s:o,s:I,s:I,s:I}", "grid",
			 json_sprintf("%lld x %lld x %lld", (long long)grid[0], (long long)grid[1],
				      (long long)grid[2]),
			 "block",
			 json_sprintf("%lld x %lld x %lld", (long long)block[0],
				      (long long)block[1], (long long)block[2]),
			 "registers", (json_int_t)shape->registers, "static shared bytes",
			 (json_int_t)shape->static_shared_bytes, "dynamic shared bytes",
			 (json_int_t)shape->dynamic_shared_bytes);
}

/* A timeline has millions of events, so the name of each place is made once. */
static json_t *place_json(const struct trace_output *output, const char **name,
			  const struct profile_frame *frame)
{
	if (*name == NULL)
		*name = names_place(output->profile, frame, PLACE_MOST);
	return trace_text(*name);
}

static json_t *arguments(const struct trace_output *output, const struct profile_event *event)
{
	const struct profile *profile = output->profile;
	char rate[UNITS_ROOM];
	bool copies = event->kind == PROFILE_COPY_CALL;
	const struct profile_buffer *buffer =
		copies && event->detail >= 0 ? &profile->buffers[event->detail] : NULL;
	json_t *made = event->kind == PROFILE_KERNEL && event->detail >= 0
			       ? shape_of(&profile->events.shapes[event->detail])
			       : json_object();

	if (event->bytes >= 0)
		json_object_set_new(made, "bytes", json_integer(event->bytes));
	if (event->bytes > 0 && event->duration_ns > 0 && event->kind == PROFILE_COPY)
		json_object_set_new(made, "GB/s",
				    json_real(strtod(units_rate(rate, (uint64_t)event->bytes,
								(uint64_t)event->duration_ns),
						     NULL)));
	if (event->site >= 0)
		json_object_set_new(
			made, "called from",
			place_json(
				output, &output->sites[event->site],
				names_frame(profile, &profile->sites[event->site].frames, false)));
	if (buffer != NULL)
		json_object_set_new(made, "buffer",
				    buffer->frames.count > 0
					    ? place_json(output, &output->buffers[event->detail],
							 names_buffer_frame(profile, buffer))
					    : trace_text(buffer->kind));
	/* Route 0 is unknown. */
	if (copies && event->route > 0)
		json_object_set_new(made, "route",
				    trace_text(profile->events.routes[event->route]));
	return made;
}

static void write_slice(struct trace_output *output, const struct profile_event *event,
			const char *name, int64_t pid, int64_t tid)
{
	trace_begin_event(output);
	fputs("{\"ph\":\"X\",\"name\":", output->to);
	trace_put(output, trace_text(name));
	fprintf(output->to, ",\"cat\":\"%s\",\"pid\":%lld,\"tid\":%lld",
		text_event_kind(event->kind), (long long)pid, (long long)tid);
	trace_at(output, event->start_ns);
	trace_microseconds(output->to, "dur", event->duration_ns);
	fputs(",\"args\":", output->to);
	trace_put(output, arguments(output, event));
	fputs("}", output->to);
}

/*
 * True if the slice fits into the subtrack, above the open slices.  Slices of streams do not nest.
 */
static bool fits(struct subtrack *subtrack, const struct profile_event *event, bool nests)
{
	while (subtrack->depth > 0 && subtrack->ends[subtrack->depth - 1] <= event->start_ns)
		subtrack->depth--;
	if (subtrack->depth == 0)
		return true;
	return nests && subtrack->depth < DEPTH_MOST &&
	       event->start_ns + event->duration_ns <= subtrack->ends[subtrack->depth - 1];
}

/*
 * Writes all events of one track.  They are sorted by start; of the same start, the longer first.
 */
static void write_track(struct trace_output *output, const struct profile_event *events,
			size_t count)
{
	const struct profile *profile = output->profile;
	const struct profile_track *track = &profile->events.tracks[events->track];
	bool is_stream = trace_is_stream(track);
	struct subtrack subtracks[SUBTRACKS_MOST] = { 0 };
	int used = 0;

	for (size_t i = 0; i < count; i++) {
		const struct profile_event *event = &events[i];
		int at = 0;

		while (at < used && !fits(&subtracks[at], event, !is_stream))
			at++;
		if (at == SUBTRACKS_MOST) {
			output->left_out++;
			continue;
		}
		struct subtrack *to = &subtracks[at];
		if (at == used) {
			to->tid = used++ == 0 && !is_stream && track->tid > 0 ? track->tid
									      : output->next_tid++;
			name_subtrack(output, (size_t)events->track, at, to->tid);
		}
		to->ends[to->depth++] = event->start_ns + event->duration_ns;
		output->tids[event - profile->events.rows] = to->tid;
		write_slice(output, event,
			    event->name >= 0 ? profile->events.names[event->name] : "?",
			    trace_pid(output, track), to->tid);
	}
}

/* The functions of a sample, callers first. */
struct stack {
	const char *names[PROFILE_FRAMES_MOST];
	size_t depth;
	size_t shared; /* number of functions that continue from the previous sample */
	int64_t start_ns, end_ns;
};

/* Returns the function of a sample or of its caller, or the name of its file. */
static const char *place_of(const struct profile *profile, const struct profile_frame *frame)
{
	if (frame->function != NULL || frame->module < 0)
		return frame->function != NULL ? frame->function : "no file";
	return basename(profile->modules[frame->module].path);
}

static void find_stack(const struct trace_output *output, const struct profile_event *sample,
		       struct stack *ret)
{
	const struct profile *profile = output->profile;
	const char *names[PROFILE_FRAMES_MOST]; /* callers last */
	size_t count = 0;

	for (int64_t at = sample->detail, level = 0; at >= 0 && level < PROFILE_FRAMES_MOST;
	     at = profile->events.places[at].caller, level++) {
		const struct profile_frames *frames = &profile->events.places[at].frames;

		for (size_t i = 0; i < frames->count && count < PROFILE_FRAMES_MOST; i++) {
			const char *name = place_of(profile, &frames->items[i]);

			/* Consecutive functions without names are shown as one. */
			if (count == 0 || frames->items[i].function != NULL ||
			    strcmp(names[count - 1], name) != 0)
				names[count++] = name;
		}
	}
	if (count == 0)
		names[count++] = "unknown";
	ret->depth = count;
	for (size_t i = 0; i < count; i++)
		ret->names[i] = names[count - 1 - i];
}

/* Returns the stacks of a thread's samples.  Each one starts after the end of the previous one. */
static void find_stacks(const struct trace_output *output, const struct profile_event *events,
			size_t count, struct stack *ret)
{
	for (size_t i = 0; i < count; i++) {
		struct stack *stack = &ret[i], *before = i > 0 ? stack - 1 : NULL;
		int64_t end_ns = events[i].start_ns + events[i].duration_ns;

		find_stack(output, &events[i], stack);
		stack->start_ns = events[i].start_ns;
		stack->end_ns = end_ns;
		stack->shared = 0;
		if (before == NULL)
			continue;
		if (stack->start_ns < before->end_ns)
			stack->start_ns = before->end_ns;
		if (stack->end_ns < stack->start_ns)
			stack->end_ns = stack->start_ns;
		/* A sample is missing in between, so nothing continues. */
		if (events[i].start_ns > before->end_ns + events[i].duration_ns)
			continue;
		while (stack->shared < stack->depth && stack->shared < before->depth &&
		       strcmp(stack->names[stack->shared], before->names[stack->shared]) == 0)
			stack->shared++;
	}
}

/*
 * Writes a thread's samples as nested slices.  A slice lasts as long as consecutive samples are in
 * the same function with the same callers.  All slices fit in one subtrack.
 */
static void write_samples(struct trace_output *output, const struct profile_event *events,
			  size_t count)
{
	struct stack *stacks = profile_allocate(output->profile, count, sizeof(*stacks));
	int64_t tid = output->next_tid++;

	name_subtrack(output, (size_t)events->track, 0, tid);
	find_stacks(output, events, count, stacks);
	for (size_t i = 0; i < count; i++) {
		for (size_t level = stacks[i].shared; level < stacks[i].depth; level++) {
			struct profile_event slice = events[i];
			size_t last = i;

			while (last + 1 < count && stacks[last + 1].shared > level)
				last++;
			slice.start_ns = stacks[i].start_ns;
			slice.duration_ns = stacks[last].end_ns - slice.start_ns;
			write_slice(output, &slice, stacks[i].names[level], output->pid, tid);
		}
	}
}

void trace_slices(struct trace_output *output)
{
	const struct profile_event *rows = output->profile->events.rows;
	size_t count = output->profile->events.row_count;

	for (size_t begin = 0, end; begin < count; begin = end) {
		for (end = begin + 1; end < count && rows[end].track == rows[begin].track;)
			end++;
		if (strcmp(output->profile->events.tracks[rows[begin].track].kind, "samples") == 0)
			write_samples(output, rows + begin, end - begin);
		else
			write_track(output, rows + begin, end - begin);
	}
}
