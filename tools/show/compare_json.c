/*
 * compare_json.c - the comparison as JSON.
 *
 * The same figures as the text, whole and with null for what is not known.
 */
#include "show/compare_json.h"
#include "analyze/advice_json.h"
#include "profile/texts.h"

#include <jansson.h>
#include <stdlib.h>

static json_t *number(int64_t value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *stage_of(const struct compare_stage *stage)
{
	struct compare_figure figures[COMPARE_FIGURES];
	json_t *made = json_object(), *files = json_array();

	for (size_t i = 0; i < stage->run_count; i++)
		json_array_append_new(files, text_json(stage->runs[i]->path));
	json_object_set_new(made, "stage", text_json(stage->profile->stage));
	json_object_set_new(made, "files", files);
	compare_figures(stage, figures);
	for (int i = 0; i < COMPARE_FIGURES; i++)
		if (figures[i].key != NULL)
			json_object_set_new(made, figures[i].key, number(figures[i].value));
	if (stage->repeated) {
		json_object_set_new(made, "least_wall_ns", number(stage->least_ns));
		json_object_set_new(made, "most_wall_ns", number(stage->most_ns));
	}
	return made;
}

static json_t *prediction_of(const struct profile *before, const struct profile *after)
{
	struct compare_prediction predicted;

	if (!compare_predict(before, after, &predicted))
		return json_null();
	json_t *made = json_object();
	json_object_set_new(made, "advice", advice_json(before, &predicted.advice));
	json_object_set_new(made, "wall_ns", json_integer(predicted.wall_ns));
	json_object_set_new(made, "off_ns", json_integer(predicted.off_ns));
	return made;
}

/* Without repeats, the noise is unknown. */
static void set_verdict(json_t *made, const struct compare_stage *stages, unsigned noise_tenths,
			bool given)
{
	int64_t before_ns = stages[0].profile->wall_ns, after_ns = stages[1].profile->wall_ns;
	bool is_known = given || compare_has_noise(&stages[0], &stages[1]);
	enum compare_verdict verdict = compare_judge(before_ns, after_ns, noise_tenths, is_known);

	json_object_set_new(made, "verdict", text_json(compare_verdict_name(verdict)));
	json_object_set_new(
		made, "within_noise",
		verdict == COMPARE_UNCLEAR && !is_known
			? json_null()
			: json_boolean(text_is_same(before_ns, after_ns, noise_tenths)));
}

/* From the first of two stages to the second. */
static json_t *step_of(const struct compare_stage *stages, unsigned least_tenths, bool given)
{
	unsigned noise_tenths = compare_noise(&stages[0], &stages[1], least_tenths);
	const struct profile *before = stages[0].profile, *after = stages[1].profile;
	struct compare_pairs pairs = compare_kernels(before, after, noise_tenths);
	json_t *made = json_object(), *kernels = pairs.items != NULL ? json_array() : json_null();

	json_object_set_new(made, "from", text_json(before->stage));
	json_object_set_new(made, "to", text_json(after->stage));
	json_object_set_new(made, "wall_change_ns", json_integer(after->wall_ns - before->wall_ns));
	json_object_set_new(made, "noise_tenths_of_a_percent", json_integer(noise_tenths));
	set_verdict(made, stages, noise_tenths, given);
	for (size_t i = 0; i < pairs.count; i++) {
		const struct compare_pair *pair = &pairs.items[i];
		json_t *row = json_object();

		json_object_set_new(row, "kernel", text_json(pair->name));
		json_object_set_new(row, "what", text_json(pair->what));
		json_object_set_new(row, "runs_before", number(pair->runs_before));
		json_object_set_new(row, "busy_before_ns", number(pair->before_ns));
		json_object_set_new(row, "runs_after", number(pair->runs_after));
		json_object_set_new(row, "busy_after_ns", number(pair->after_ns));
		json_array_append_new(kernels, row);
	}
	json_object_set_new(made, "kernels", kernels);
	json_object_set_new(made, "predicted", prediction_of(before, after));
	free(pairs.items);
	return made;
}

void compare_json(const struct compare_stage *stages, size_t count, unsigned least_tenths,
		  bool given)
{
	json_t *made = json_object(), *all = json_array(), *steps = json_array();
	bool is_measured = true;

	for (size_t i = 0; i < count; i++) {
		json_array_append_new(all, stage_of(&stages[i]));
		is_measured &= stages[i].repeated;
		if (i > 0)
			json_array_append_new(steps, step_of(&stages[i - 1], least_tenths, given));
	}
	json_object_set_new(made, "schema", text_json("hotpin.compare"));
	json_object_set_new(made, "schema_version", text_json("2.0"));
	json_object_set_new(made, "noise_is_assumed", json_boolean(!given && !is_measured));
	json_object_set_new(made, "stages", all);
	json_object_set_new(made, "steps", steps);
	json_dumpf(made, stdout, JSON_INDENT(1) | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(made);
}
