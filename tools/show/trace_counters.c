/*
 * trace_counters.c - the curves of `hotpin trace`: sums over time, one for each device.
 */
#include "show/trace_write.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

#define SERIES 2

/* The amount that one event adds to a curve during its time. */
struct part {
	int series;
	int64_t amount, start_ns, end_ns;
};

struct curve {
	const char *name, *series[SERIES]; /* series[1] is NULL if there is only one */
	bool (*part)(const struct trace_output *, const struct curve *,
		     const struct profile_event *, struct part *);
	bool millionths;
	int direction; /* of rates, as direction_of() says */
};

struct step {
	int64_t at_ns, amount;
	int series;
};

/* Returns 0 for an upload, 1 for a download, and -1 for other events. */
static int direction_of(const struct profile *profile, const struct profile_event *event)
{
	if (event->kind != PROFILE_COPY || event->name < 0 || event->bytes <= 0)
		return -1;
	const char *name = profile->events.names[event->name];
	return strncmp(name, "h2d", 3) == 0 ? 0 : strncmp(name, "d2h", 3) == 0 ? 1 : -1;
}

/* The rate is in kB/s. */
static bool rate_of(const struct trace_output *output, const struct curve *curve,
		    const struct profile_event *event, struct part *ret)
{
	if (direction_of(output->profile, event) != curve->direction || event->duration_ns <= 0)
		return false;
	__int128_t rate = (__int128_t)event->bytes * 1000000 / event->duration_ns;
	/* The limit is above any bus; sums of it cannot overflow. */
	ret->amount = rate < 1000000000000 ? (int64_t)rate : 1000000000000;
	return true;
}

/* From the start of the call, if known, to the end of the copy. */
static bool in_flight(const struct trace_output *output, const struct curve *curve,
		      const struct profile_event *event, struct part *ret)
{
	(void)curve;
	size_t row = (size_t)(event - output->profile->events.rows);

	ret->series = direction_of(output->profile, event);
	ret->amount = event->bytes < INT64_C(1) << 40 ? event->bytes : INT64_C(1) << 40;
	if (output->calls != NULL && output->calls[row] != SIZE_MAX) {
		int64_t call_ns = output->profile->events.rows[output->calls[row]].start_ns;

		ret->start_ns = call_ns < ret->start_ns ? call_ns : ret->start_ns;
	}
	return ret->series >= 0;
}

static bool running(const struct trace_output *output, const struct curve *curve,
		    const struct profile_event *event, struct part *ret)
{
	(void)output;
	(void)curve;
	ret->series = event->kind == PROFILE_COPY;
	ret->amount = 1;
	return event->kind == PROFILE_KERNEL || event->kind == PROFILE_COPY ||
	       event->kind == PROFILE_MEMSET;
}

static const struct curve curves[] = {
	{ "HtoD GB/s", { "GB/s" }, rate_of, .millionths = true, .direction = 0 },
	{ "DtoH GB/s", { "GB/s" }, rate_of, .millionths = true, .direction = 1 },
	{ "bytes in flight", { "HtoD", "DtoH" }, in_flight },
	{ "running on the device", { "kernels", "copies" }, running },
};

static int by_time(const void *left, const void *right)
{
	const struct step *a = left, *b = right;

	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return a->amount < b->amount ? -1 : a->amount > b->amount;
}

static size_t find_steps(const struct trace_output *output, const struct curve *curve,
			 int64_t device_pid, struct step *steps)
{
	const struct profile *profile = output->profile;
	size_t used = 0;

	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];
		const struct profile_track *track = &profile->events.tracks[event->track];
		struct part part = { 0, 0, event->start_ns, event->start_ns + event->duration_ns };

		if (!trace_is_stream(track) ||
		    trace_device_pid(output, track->device) != device_pid ||
		    !curve->part(output, curve, event, &part) || part.end_ns <= part.start_ns)
			continue;
		steps[used++] = (struct step){ part.start_ns, part.amount, part.series };
		steps[used++] = (struct step){ part.end_ns, -part.amount, part.series };
	}
	return used;
}

static void write_point(struct trace_output *output, const struct curve *curve, int64_t device_pid,
			int64_t at_ns, const int64_t *sums)
{
	trace_begin_event(output);
	fprintf(output->to, "{\"ph\":\"C\",\"name\":\"%s\",\"pid\":%lld,\"tid\":0", curve->name,
		(long long)device_pid);
	trace_at(output, at_ns);
	fputs(",\"args\":{", output->to);
	for (int i = 0; i < SERIES && curve->series[i] != NULL; i++) {
		fprintf(output->to, "%s\"%s\":", i > 0 ? "," : "", curve->series[i]);
		if (curve->millionths)
			fprintf(output->to, "%lld.%06lld", (long long)sums[i] / 1000000,
				(long long)sums[i] % 1000000);
		else
			fprintf(output->to, "%lld", (long long)sums[i]);
	}
	fputs("}}", output->to);
}

static void write_curve(struct trace_output *output, const struct curve *curve, int64_t pid,
			struct step *steps, size_t count)
{
	int64_t sums[SERIES] = { 0 };

	if (count > 0)
		qsort(steps, count, sizeof(*steps), by_time);
	for (size_t i = 0; i < count; i++) {
		int64_t *sum = &sums[steps[i].series];

		/* The timeline may lack a short pin, so the sum must not become negative. */
		*sum = *sum + steps[i].amount > 0 ? *sum + steps[i].amount : 0;
		if (i + 1 == count || steps[i + 1].at_ns != steps[i].at_ns)
			write_point(output, curve, pid, steps[i].at_ns, sums);
	}
}

/* The bytes that hotpin has pinned; the curve begins at 0. */
static void write_pinned(struct trace_output *output, struct step *steps)
{
	static const struct curve curve = { "pinned by hotpin", { "bytes" } };
	const struct profile *profile = output->profile;
	size_t used = 0;

	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];

		if (event->kind != PROFILE_OWN || event->name < 0 || event->bytes <= 0 ||
		    event->bytes > INT64_C(1) << 48)
			continue;
		bool ends = strcmp(profile->events.names[event->name], "unpin") == 0;
		steps[used++] = (struct step){ event->start_ns + event->duration_ns,
					       ends ? -event->bytes : event->bytes, 0 };
	}
	write_curve(output, &curve, output->pid, steps, used);
}

void trace_counters(struct trace_output *output)
{
	const struct profile *profile = output->profile;
	struct step *steps = calloc(profile->events.row_count * 2 + 1, sizeof(*steps));
	bool done[TRACE_DEVICES] = { false };

	if (steps != NULL)
		write_pinned(output, steps);
	for (size_t i = 0; i < profile->events.track_count && steps != NULL; i++) {
		const struct profile_track *track = &profile->events.tracks[i];
		int64_t pid = trace_device_pid(output, track->device);

		if (!trace_is_stream(track) || done[pid % TRACE_DEVICES])
			continue;
		done[pid % TRACE_DEVICES] = true;
		for (size_t curve = 0; curve < HP_LEN(curves); curve++)
			write_curve(output, &curves[curve], pid, steps,
				    find_steps(output, &curves[curve], pid, steps));
	}
	free(steps);
}
