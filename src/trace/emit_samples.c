/*
 * emit_samples.c - writes the samples of host code as JSON.
 */
#include "trace/emit_samples.h"
#include "trace/perf_event.h"
#include "trace/sampler.h"
#include "trace/samples.h"

static void add_frame(struct json *json, const struct module_place *frame, bool guessed)
{
	json_open(json, NULL, "{");
	json_known(json, "module", frame->module != MODULES_NOWHERE, frame->module);
	json_number(json, "offset", frame->offset);
	if (guessed)
		json_bool(json, "guessed", true);
	json_close(json, "}");
}

static void add_sample(struct json *json, const struct sample *sample)
{
	json_open(json, NULL, "{");
	json_open(json, "frames", "[");
	for (size_t i = 0; i < sample->depth; i++)
		add_frame(json, &sample->frame[i], i > 0);
	json_close(json, "]");
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

void emit_samples(const struct report *report, struct json *json)
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
