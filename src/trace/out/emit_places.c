/*
 * emit_places.c - writes places in the program, as JSON, and the samples that were found there.
 */
#include "trace/out/emit_places.h"
#include "trace/python/python_places.h"
#include "trace/python/python_sampler.h"
#include "trace/samples/perf_event.h"
#include "trace/samples/sampler.h"
#include "trace/samples/samples.h"

#include <sys/stat.h>

void emit_frames(struct json *json, const struct module_place *frame, size_t depth, bool guessed)
{
	json_open(json, "frames", "[");
	for (size_t i = 0; i < depth; i++) {
		json_open(json, NULL, "{");
		json_known(json, "module", frame[i].module != MODULES_NOWHERE, frame[i].module);
		json_number(json, "offset", frame[i].offset);
		if (guessed && i > 0)
			json_bool(json, "guessed", true);
		json_close(json, "}");
	}
	json_close(json, "]");
}

/* Left out if empty: most programs have no interpreter. */
static void add_python(struct json *json, const uint32_t *place, size_t depth)
{
	if (depth == 0)
		return;
	json_open(json, "python", "[");
	for (size_t i = 0; i < depth; i++) {
		struct python_source source;

		python_places_read(place[i], &source);
		json_open(json, NULL, "{");
		json_words(json, "file", source.file);
		json_words(json, "function", source.function);
		json_number(json, "line", source.line);
		json_close(json, "}");
	}
	json_close(json, "]");
}

void emit_place(struct json *json, const struct frames_place *place)
{
	emit_frames(json, place->frame, place->depth, false);
	add_python(json, place->python, place->python_depth);
}

static void add_sample(struct json *json, const struct sample *sample)
{
	json_open(json, NULL, "{");
	emit_frames(json, sample->frame, sample->depth, true);
	if (sample->folded)
		json_bool(json, "folded", true);
	json_number(json, "first_thread", sample->count[SAMPLES_FIRST]);
	json_number(json, "other_threads", sample->count[SAMPLES_OTHERS]);
	json_close(json, "}");
}

static void add_sampling(struct json *json, const struct sampler_sums *sums, uint64_t dropped,
			 uint64_t began_ns)
{
	json_open(json, "sampling", "{");
	json_text(json, "mode", sums->mode);
	json_text(json, "why", sums->why);
	json_number(json, "hz", PERF_EVENT_HZ);
	json_known(json, "began_ns", sums->began_ns > began_ns, sums->began_ns - began_ns);
	json_number(json, "samples", sums->ring.samples);
	json_number(json, "empty", sums->ring.empty);
	json_number(json, "lost", sums->ring.lost);
	json_number(json, "dropped", dropped);
	json_number(json, "throttled", sums->ring.throttled);
	json_number(json, "threads_most", sums->threads);
	json_number(json, "threads_sampled", sums->sampled);
	json_number(json, "threads_refused", sums->refused);
	json_number(json, "threads_at_once", sums->at_once);
	json_bool(json, "in_turn", sums->in_turn);
	json_number(json, "cost_ns", sums->cost_ns);
	json_close(json, "}");
}

static void add_samples(const struct report *report, struct json *json)
{
	struct sampler_sums sums = { .mode = "none",
				     .why = "the thread that reads samples did not end" };
	/* True: the thread that adds samples runs this code, or has ended. */
	bool ended = report->collected.device != NULL;

	if (ended)
		sampler_read(&sums);
	bool known = ended && (sums.ring.samples > 0 || sums.why[0] == '\0');
	if (known) {
		json_open(json, "samples", "[");
		for (size_t i = 0; i < samples_count(); i++)
			add_sample(json, samples_read(i));
		json_close(json, "]");
	} else {
		json_null(json, "samples");
	}
	add_sampling(json, &sums, ended ? samples_dropped() : 0, report->began_ns);
}

/* Left out if no Python ran. */
static void add_python_samples(struct json *json)
{
	size_t count = python_sampler_count();

	if (count == 0)
		return;
	json_open(json, "python_samples", "[");
	for (size_t i = 0; i < count; i++) {
		struct python_sample sample;

		python_sampler_read(i, &sample);
		if (sample.samples == 0)
			continue;
		json_open(json, NULL, "{");
		add_python(json, sample.python, sample.python_depth);
		json_number(json, "samples", sample.samples);
		json_number(json, "cpu_ns", sample.cpu_ns);
		json_close(json, "}");
	}
	json_close(json, "]");
}

static uint64_t stamp_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/*
 * Size and time show whether a file is still the one that ran.  A file that was changed during the
 * run may be another one.  Left out if there are no files.
 */
static void add_python_files(const struct report *report, struct json *json)
{
	uint64_t began_ns = report->began_ns + report->process.unix_offset_ns;
	bool any = false;
	uint32_t at = 0;

	for (const char *path; (path = python_places_file(&at)) != NULL;) {
		struct stat status;

		if (stat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
		    stamp_ns(&status.st_mtim) > began_ns)
			continue;
		if (!any)
			json_open(json, "python_files", "[");
		any = true;
		json_open(json, NULL, "{");
		json_words(json, "file", path);
		json_number(json, "bytes", (uint64_t)status.st_size);
		json_number(json, "modified_ns", stamp_ns(&status.st_mtim));
		json_close(json, "}");
	}
	if (any)
		json_close(json, "]");
}

static void add_modules(struct json *json)
{
	size_t count = modules_count();

	json_open(json, "modules", "[");
	for (size_t i = 0; i < count; i++) {
		struct module module;

		modules_read(i, &module);
		json_open(json, NULL, "{");
		json_words(json, "path", module.path);
		json_text(json, "build_id", module.build_id);
		json_close(json, "}");
	}
	json_close(json, "]");
}

void emit_samples(const struct report *report, struct json *json)
{
	add_samples(report, json);
	add_python_samples(json);
	add_python_files(report, json);
	add_modules(json);
}
