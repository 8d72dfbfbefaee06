/*
 * html_stages.c - porting stages as columns on one scale.
 *
 * The drawing has a cell for each stage and a cell for each change between two stages.  Cells are
 * as wide as the screen allows, and only heights have a scale.  All text is outside of the drawing,
 * as text.
 */
#include "show/page/html.h"
#include "show/page/page.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 240, TOP = 12 };

struct scale {
	int64_t most_ns, step_ns;
};

static double y_of(const struct scale *scale, int64_t ns)
{
	return HEIGHT - (double)ns / (double)scale->most_ns * (HEIGHT - TOP);
}

/* Returns 1, 2 or 5 times a power of ten, for about four lines. */
static int64_t nice_step(int64_t most_ns)
{
	static const int factors[] = { 2, 5, 10 };
	int64_t power = 1;

	for (; power <= INT64_MAX / 100; power *= 10)
		for (size_t i = 0; i < HP_LEN(factors); i++)
			if (power * factors[i] >= most_ns / 4)
				return power * factors[i];
	return most_ns;
}

static struct scale scale_of(const struct compare_stage *stages, size_t count)
{
	struct scale scale = { 1, 0 };

	for (size_t i = 0; i < count; i++) {
		int64_t top = stages[i].profile->wall_ns;

		if (stages[i].repeated)
			top = stages[i].most_ns;
		scale.most_ns = top > scale.most_ns ? top : scale.most_ns;
	}
	scale.step_ns = nice_step(scale.most_ns);
	return scale;
}

static void grid(FILE *to, const struct scale *scale)
{
	fputs("<path class=\"axis\" d=\"", to);
	for (int64_t ns = 0; ns <= scale->most_ns; ns += scale->step_ns)
		fprintf(to, "M0 %.1fH100", y_of(scale, ns));
	fputs("\"/>", to);
}

static void cell_begin(FILE *to, const struct scale *scale, const char *label)
{
	fprintf(to,
		"<div><svg class=\"stack\" role=\"img\" viewBox=\"0 0 100 %d\" "
		"preserveAspectRatio=\"none\" aria-label=\"",
		HEIGHT);
	page_text(to, label);
	fputs("\">", to);
	grid(to, scale);
}

static void axis(FILE *to, const struct scale *scale)
{
	fprintf(to, "<div class=\"scale\"><svg aria-hidden=\"true\" height=\"%d\">", HEIGHT);
	for (int64_t ns = 0; ns <= scale->most_ns; ns += scale->step_ns)
		fprintf(to, "<text x=\"46\" y=\"%.1f\" text-anchor=\"end\">%s</text>",
			y_of(scale, ns) - 2, ns > 0 ? text_time(ns) : "0");
	fputs("</svg></div>\n", to);
}

static void column_text(FILE *to, const struct compare_stage *stage,
			const struct compare_prediction *predicted)
{
	fprintf(to, "</svg><p><b>%s</b></p>", text_time(stage->profile->wall_ns));
	page_element(to, "p", text_name(stage->profile->stage, 60));
	if (stage->run_count > 1)
		fprintf(to, "<p class=\"soft\">%s %zu %s</p>",
			stage->repeated ? "median of" : "sum of", stage->run_count,
			stage->repeated ? "runs" : "ranks");
	if (predicted != NULL)
		fprintf(to, "<p class=\"soft\">predicted: %s <span>%s</span></p>",
			predicted->advice.is_estimate ? "about" : "at least",
			text_time(predicted->wall_ns));
	fputs("</div>\n", to);
}

static void column(FILE *to, const struct scale *scale, const struct compare_stage *stages,
		   size_t i)
{
	const struct profile *profile = stages[i].profile;
	struct compare_prediction predicted;
	bool is_predicted = i > 0 && compare_predict(stages[i - 1].profile, profile, &predicted);
	int64_t below = 0;
	char label[TEXT_BYTES(60) + 64];

	snprintf(label, sizeof(label), "%s: %s", text_name(profile->stage, 60),
		 text_time(profile->wall_ns));
	cell_begin(to, scale, label);
	for (int part = 0; part < TEXT_PARTS && profile_has_split(profile); part++) {
		int64_t ns = text_part_ns(&profile->split, part);

		if (ns <= 0)
			continue;
		fprintf(to,
			"<rect class=\"%s\" x=\"12\" width=\"76\" y=\"%.1f\" height=\"%.1f\">"
			"<title>%s %s</title></rect>",
			page_part_kinds[part], y_of(scale, below + ns),
			y_of(scale, below) - y_of(scale, below + ns), text_parts[part].title,
			text_time(ns));
		below += ns;
	}
	if (!profile_has_split(profile))
		fprintf(to, "<path class=\"mark\" d=\"M12 %dV%.1fH88V%d\"/>", HEIGHT,
			y_of(scale, profile->wall_ns), HEIGHT);
	if (stages[i].repeated)
		fprintf(to, "<path class=\"mark\" d=\"M90 %.1fH98M94 %.1fV%.1fM90 %.1fH98\"/>",
			y_of(scale, stages[i].most_ns), y_of(scale, stages[i].most_ns),
			y_of(scale, stages[i].least_ns), y_of(scale, stages[i].least_ns));
	if (is_predicted)
		fprintf(to, "<path class=\"mark predicted\" d=\"M2 %.1fH98\"/>",
			y_of(scale, predicted.wall_ns));
	column_text(to, &stages[i], is_predicted ? &predicted : NULL);
}

struct step {
	double x, width;
	int64_t from_ns, to_ns;
	bool is_noise;
};

/* Draws a change from one level to another; a change within the noise is hatched. */
static void block(FILE *to, const struct scale *scale, const struct step *step, const char *kind,
		  const char *name)
{
	int64_t high = step->from_ns > step->to_ns ? step->from_ns : step->to_ns;
	int64_t low = step->from_ns > step->to_ns ? step->to_ns : step->from_ns;
	double top = y_of(scale, high), tall = y_of(scale, low) - top;

	tall = tall > 1 ? tall : 1;
	if (step->is_noise) {
		fputs("<path class=\"hatch\" d=\"", to);
		for (int line = 0; line <= 3; line++)
			fprintf(to, "M%.1f %.1fv%.1f", step->x + line * step->width / 3, top, tall);
		fprintf(to, "M%.1f %.1fh%.1f\">", step->x, top, step->width);
	} else {
		fprintf(to,
			"<rect class=\"%s\" x=\"%.1f\" width=\"%.1f\" y=\"%.1f\" height=\"%.1f\">",
			kind, step->x, step->width, top, tall);
	}
	fprintf(to, "<title>%s: %s%s</title>%s", name, text_change(step->from_ns, step->to_ns),
		step->is_noise ? ", within the noise" : "", step->is_noise ? "</path>" : "</rect>");
}

static bool is_noise(int64_t before_ns, int64_t change_ns, unsigned noise_tenths)
{
	__int128_t apart = change_ns < 0 ? -change_ns : change_ns;

	return apart * 1000 <= (__int128_t)before_ns * noise_tenths;
}

/* Draws the change of each state, from the level of one stage to the level of the next. */
static void steps(FILE *to, const struct scale *scale, const struct profile *before,
		  const struct profile *after, unsigned noise_tenths)
{
	int64_t changes[TEXT_PARTS], level = before->wall_ns;
	int count = 0, at = 0;

	for (int part = 0; part < TEXT_PARTS; part++) {
		changes[part] =
			text_part_ns(&after->split, part) - text_part_ns(&before->split, part);
		count += changes[part] != 0;
	}
	for (int part = 0; part < TEXT_PARTS; part++) {
		if (changes[part] == 0)
			continue;
		struct step step = { 100.0 * at++ / count, 100.0 / count, level,
				     level + changes[part],
				     is_noise(before->wall_ns, changes[part], noise_tenths) };

		block(to, scale, &step, page_part_kinds[part], text_parts[part].title);
		level = step.to_ns;
	}
}

/* "within the noise", "noise unknown", or "" of a change that counts. */
static const char *noise_of(const struct compare_stage *stages, unsigned noise_tenths)
{
	int64_t before_ns = stages[0].profile->wall_ns, after_ns = stages[1].profile->wall_ns;
	bool is_known = compare_has_noise(&stages[0], &stages[1]);

	enum compare_verdict verdict = compare_judge(before_ns, after_ns, noise_tenths, is_known);

	if (verdict == COMPARE_FASTER || verdict == COMPARE_SLOWER)
		return "";
	return verdict == COMPARE_UNCLEAR && !is_known ? "noise unknown" : "within the noise";
}

/* From the first of two stages to the second. */
static void bridge(FILE *to, const struct scale *scale, const struct compare_stage *stages)
{
	unsigned noise_tenths = compare_noise(&stages[0], &stages[1], COMPARE_NOISE_TENTHS);
	const struct profile *before = stages[0].profile, *after = stages[1].profile;
	const char *noise = noise_of(stages, noise_tenths);
	char label[128];

	snprintf(label, sizeof(label), "change: %s%s%s",
		 text_change(before->wall_ns, after->wall_ns), noise[0] != '\0' ? ", " : "", noise);
	cell_begin(to, scale, label);
	if (profile_has_split(before) && profile_has_split(after)) {
		steps(to, scale, before, after, noise_tenths);
	} else {
		struct step step = { 30, 40, before->wall_ns, after->wall_ns,
				     text_is_same(before->wall_ns, after->wall_ns, noise_tenths) };

		block(to, scale, &step, "mark", "wall time");
	}
	fprintf(to, "</svg><p><span>%s</span></p><p class=\"soft\">%s</p></div>\n",
		text_change(before->wall_ns, after->wall_ns),
		noise[0] != '\0' ? noise
				 : compare_change(before->wall_ns, after->wall_ns, noise_tenths));
}

static void legend(FILE *to, const struct compare_stage *stages, size_t count)
{
	fputs("<ul class=\"legend\">\n", to);
	for (int part = 0; part < TEXT_PARTS; part++) {
		int64_t most = 0;

		for (size_t i = 0; i < count; i++)
			if (text_part_ns(&stages[i].profile->split, part) > most)
				most = text_part_ns(&stages[i].profile->split, part);
		if (most > 0)
			page_swatch(to, page_part_kinds[part], text_parts[part].title);
	}
	fputs("</ul>\n", to);
	page_element(
		to, "p class=\"soft\"",
		"Between two columns: the change by state. Line with caps: the shortest and the "
		"longest repeat. Dashed line: what the previous stage predicted. Hatched: within "
		"the noise.");
}

void html_stages(FILE *to, const struct compare_stage *stages, size_t count)
{
	struct scale scale = scale_of(stages, count);

	page_section(to, "stages", NULL);
	fputs("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"wall time by "
	      "stage\">"
	      "<div class=\"stages\">\n",
	      to);
	axis(to, &scale);
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			bridge(to, &scale, &stages[i - 1]);
		column(to, &scale, stages, i);
	}
	fputs("</div></div>\n", to);
	legend(to, stages, count);
	html_comparison(to, stages, count);
	page_section_end(to);
}
