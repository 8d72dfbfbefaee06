/*
 * emit_places.c - an entry of each list of places, filled in when it is written.
 */
#include "trace/out/emit.h"
#include "trace/python/python_places.h"
#include "trace/python/python_sampler.h"
#include "trace/samples/perf_event.h"
#include "trace/samples/sampler.h"
#include "trace/samples/samples.h"

#include <sys/stat.h>

_Static_assert(EMIT_FRAMES_MOST >= FRAMES_MOST && EMIT_FRAMES_MOST >= PERF_RING_CHAIN_MOST,
	       "room for all frames");

struct profile_frames emit_chain(struct emit_place *room, const struct module_place *frame,
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
	for (size_t i = 0; i < depth; i++)
		python_places_read(place[i], &room->python[i]);
	return room->python;
}

struct profile_sampling emit_sampling(const struct report *report)
{
	struct profile_sampling sampling = {
		.mode = "none",
		.why = "the thread that reads samples did not end",
		.hz = PERF_EVENT_HZ,
	};

	/* Else the thread that adds samples runs this code, or has ended. */
	if (report->collected.device != NULL)
		sampler_read(&sampling);
	sampling.began_ns -= (int64_t)report->began_ns;
	if (sampling.began_ns <= 0)
		sampling.began_ns = UNKNOWN;
	return sampling;
}

static const void *sample_at(const struct report *report, size_t index)
{
	static struct emit_place room;
	static struct profile_sample row;
	struct profile_sampling sampling = emit_sampling(report);

	if (sampling.samples == 0 && sampling.why[0] != '\0')
		return JSON_UNKNOWN;
	if (index == samples_count())
		return JSON_END;
	const struct sample *sample = samples_read(index);
	row = (struct profile_sample){
		.frames = emit_chain(&room, sample->frame, sample->depth, true),
		.folded = sample->folded,
		.first_thread = sample->count[SAMPLES_FIRST],
		.before_cuda = sample->before,
		.after_cuda = sample->after,
	};
	for (int thread = SAMPLES_FIRST + 1; thread < SAMPLES_THREADS; thread++) {
		row.other_threads += (int64_t)sample->count[thread];
		row.threads[thread - 1] = (int64_t)sample->count[thread];
	}
	return sample->depth > 0 ? &row : NULL;
}

static const void *python_at(const struct report *report, size_t index)
{
	static struct emit_place room;
	static struct profile_python row;
	struct python_sample sample;

	(void)report;
	if (!python_sampler_read(index, &sample))
		return JSON_END;
	row = (struct profile_python){
		.python = emit_python(&room, sample.python, sample.python_depth),
		.python_count = sample.python_depth,
		.samples = sample.samples,
		.cpu_ns = sample.cpu_ns,
	};
	return sample.samples > 0 ? &row : NULL;
}

static uint64_t stamp_ns(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

/*
 * Size and time show whether a file is still the one that ran.  A file that was changed during the
 * run may be another one.
 */
static const void *python_file_at(const struct report *report, size_t index)
{
	static struct profile_python_file file;
	uint64_t began_ns = report->began_ns + report->process.unix_offset_ns;
	struct stat status;

	if (index == python_places_texts())
		return JSON_END;
	const char *path = python_places_file(index);
	if (path == NULL || stat(path, &status) < 0 || !S_ISREG(status.st_mode) ||
	    stamp_ns(&status.st_mtim) > began_ns)
		return NULL;
	file = (struct profile_python_file){
		.file = path,
		.bytes = status.st_size,
		.modified_ns = stamp_ns(&status.st_mtim),
	};
	return &file;
}

static const void *module_at(const struct report *report, size_t index)
{
	static struct profile_module row;
	static struct module module;

	(void)report;
	if (index == modules_count())
		return JSON_END;
	modules_read(index, &module);
	row = (struct profile_module){ .path = module.path, .build_id = module.build_id };
	return &row;
}

const struct json_list emit_places_lists[] = {
	JSON_LIST(profile, samples, sample_at),
	JSON_LIST(profile, python, python_at),
	JSON_LIST(profile, python_files, python_file_at),
	/* Modules are written after all fields that refer to them. */
	JSON_LIST(profile, modules, module_at),
	{ 0 },
};
