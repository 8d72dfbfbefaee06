/*
 * emit_places.c - writes places in the program, as JSON, and the samples that were found there.
 */
#include "trace/out/emit_places.h"
#include "trace/python/python_places.h"
#include "trace/python/python_sampler.h"
#include "trace/samples/perf_event.h"
#include "trace/samples/perf_ring.h"
#include "trace/samples/samples.h"

#include <sys/stat.h>

_Static_assert(EMIT_FRAMES_MOST >= FRAMES_MOST && EMIT_FRAMES_MOST >= PERF_RING_CHAIN_MOST,
	       "room for all frames");

struct profile_frames emit_frames(struct emit_place *room, const struct module_place *frame,
				  size_t depth, bool guessed)
{
	for (size_t i = 0; i < depth; i++)
		room->frame[i] = (struct profile_frame){
			.module = json_known(frame[i].module != MODULES_NOWHERE, frame[i].module),
			.offset = frame[i].offset,
			.guessed = guessed && i > 0,
		};
	return (struct profile_frames){ room->frame, depth };
}

struct profile_source *emit_python(struct emit_place *room, const uint32_t *place, size_t depth)
{
	for (size_t i = 0; i < depth; i++) {
		struct python_source source;

		python_places_read(place[i], &source);
		room->python[i] = (struct profile_source){
			.file = source.file,
			.function = source.function,
			.line = source.line,
		};
	}
	return room->python;
}

/* Reads the sums of the sampler; false: samples are not known. */
static bool read_sums(const struct report *report, struct sampler_sums *ret)
{
	*ret = (struct sampler_sums){ .mode = "none",
				      .why = "the thread that reads samples did not end" };
	/* Else the thread that adds samples runs this code, or has ended. */
	if (report->collected.device == NULL)
		return false;
	sampler_read(ret);
	return ret->ring.samples > 0 || ret->why[0] == '\0';
}

struct profile_sampling emit_sampling(const struct report *report, struct sampler_sums *sums)
{
	read_sums(report, sums);
	return (struct profile_sampling){
		.mode = sums->mode,
		.why = sums->why,
		.hz = PERF_EVENT_HZ,
		.began_ns = json_known(sums->began_ns > report->began_ns,
				       sums->began_ns - report->began_ns),
		.samples = sums->ring.samples,
		.empty = sums->ring.empty,
		.lost = sums->ring.lost,
		.dropped = report->collected.device != NULL ? samples_dropped() : 0,
		.throttled = sums->ring.throttled,
		.threads_most = sums->threads,
		.threads_sampled = sums->sampled,
		.threads_refused = sums->refused,
		.threads_at_once = sums->at_once,
		.in_turn = sums->in_turn,
		.cost_ns = sums->cost_ns,
	};
}

void emit_samples(const struct report *report, struct json *json, const char *name)
{
	struct sampler_sums sums;
	struct emit_place room;

	if (!read_sums(report, &sums)) {
		json_null(json, name);
		return;
	}
	json_open(json, name, "[");
	for (size_t i = 0; i < samples_count(); i++) {
		const struct sample *sample = samples_read(i);
		const struct profile_sample row = {
			.frames = emit_frames(&room, sample->frame, sample->depth, true),
			.folded = sample->folded,
			.first_thread = sample->count[SAMPLES_FIRST],
			.other_threads = sample->count[SAMPLES_OTHERS],
		};

		json_record(json, NULL, profile_sample_id, &row);
	}
	json_close(json, "]");
}

/* Left out if no Python ran. */
void emit_python_samples(const struct report *report, struct json *json, const char *name)
{
	size_t count = python_sampler_count();
	struct emit_place room;

	(void)report;
	if (count == 0)
		return;
	json_open(json, name, "[");
	for (size_t i = 0; i < count; i++) {
		struct python_sample sample;

		python_sampler_read(i, &sample);
		const struct profile_python row = {
			.python = emit_python(&room, sample.python, sample.python_depth),
			.python_count = sample.python_depth,
			.samples = sample.samples,
			.cpu_ns = sample.cpu_ns,
		};
		if (sample.samples > 0)
			json_record(json, NULL, profile_python_id, &row);
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
void emit_python_files(const struct report *report, struct json *json, const char *name)
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
			json_open(json, name, "[");
		any = true;
		const struct profile_python_file file = {
			.file = path,
			.bytes = status.st_size,
			.modified_ns = stamp_ns(&status.st_mtim),
		};
		json_record(json, NULL, profile_python_file_id, &file);
	}
	if (any)
		json_close(json, "]");
}

/* Modules are written after all fields that refer to them. */
void emit_modules(const struct report *report, struct json *json, const char *name)
{
	(void)report;
	json_open(json, name, "[");
	for (size_t i = 0, count = modules_count(); i < count; i++) {
		struct module module;

		modules_read(i, &module);
		const struct profile_module row = { .path = module.path,
						    .build_id = module.build_id };
		json_record(json, NULL, profile_module_id, &row);
	}
	json_close(json, "]");
}
