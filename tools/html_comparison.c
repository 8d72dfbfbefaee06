/*
 * html_comparison.c - figures of porting stages, and the changes from one stage to the next.
 */
#include "html.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

#define KERNELS_MOST 10

static bool has_figure(struct compare_figure (*all)[COMPARE_FIGURES], size_t count, int figure)
{
	for (size_t i = 0; i < count; i++)
		if (all[i][figure].value > 0)
			return true;
	return false;
}

static void comparison_row(FILE *to, struct compare_figure (*all)[COMPARE_FIGURES], size_t count,
			   int figure, unsigned noise_tenths)
{
	const char *name = compare_figure_name(figure);

	fprintf(to, "<tr><th scope=\"row\" class=\"text\">%s%s</th>",
		name[0] == ' ' ? "&#160;&#160;" : "", name + strspn(name, " "));
	for (size_t i = 0; i < count; i++) {
		int64_t value = all[i][figure].value;

		fprintf(to, "<td>%s", compare_figure_shown(figure, value));
		if (i > 0)
			fprintf(to, " <small>%s</small>",
				compare_ratio(all[i - 1][figure].value, value, noise_tenths));
		fputs("</td>", to);
	}
	fputs("</tr>\n", to);
}

static void predicted_row(FILE *to, const struct compare_stage *stages, size_t count)
{
	fputs("<tr><th scope=\"row\" class=\"text\">predicted by the previous stage</th>", to);
	for (size_t i = 0; i < count; i++) {
		struct compare_prediction predicted;

		if (i > 0 && compare_predict(stages[i - 1].profile, stages[i].profile, &predicted))
			fprintf(to, "<td>%s %s</td>",
				predicted.advice.is_estimate ? "about" : "at least",
				show_time(predicted.wall_ns));
		else
			fputs("<td></td>", to);
	}
	fputs("</tr>\n", to);
}

static void table(FILE *to, const struct compare_stage *stages, size_t count, unsigned noise_tenths)
{
	struct compare_figure(*all)[COMPARE_FIGURES] = calloc(count, sizeof(*all));
	const char **columns = calloc(count + 1, sizeof(*columns));
	bool is_repeated = false;
	char(*names)[SHOW_BYTES(32) + 1] = calloc(count, sizeof(*names));

	if (all != NULL && columns != NULL && names != NULL) {
		columns[0] = "<";
		for (size_t i = 0; i < count; i++) {
			compare_figures(stages[i].profile, all[i]);
			is_repeated |= stages[i].repeated;
			/*
			 * The leading blank keeps page_table_begin() from taking the first
			 * character for a mark.
			 */
			snprintf(names[i], sizeof(names[i]), " %s",
				 show_text(stages[i].profile->stage, 32));
			columns[i + 1] = names[i];
		}
		page_table_begin(to, columns, count + 1);
		for (int figure = 0; figure < COMPARE_FIGURES; figure++)
			if (has_figure(all, count, figure))
				comparison_row(to, all, count, figure, noise_tenths);
		predicted_row(to, stages, count);
		page_table_end(to);
	}
	free(names);
	free(columns);
	free(all);
	fprintf(to,
		"<p class=\"soft\">Each stage is compared with the previous one; the noise is "
		"%u.%u %%%s.</p>\n",
		noise_tenths / 10, noise_tenths % 10, is_repeated ? "" : ", assumed");
}

static void pair_row(FILE *to, const struct compare_pair *pair, unsigned noise_tenths)
{
	static const char *const columns[] = { "<", "<", "", "", "" };
	const struct profile_kernel *kernel = pair->after != NULL ? pair->after : pair->before;
	bool changed = pair->before != NULL && pair->after != NULL;

	page_row(to, columns, HP_LEN(columns),
		 (const char *[]){ show_text(kernel->readable, 120),
				   pair->before == NULL ? "new"
				   : changed            ? "changed"
							: "gone",
				   pair->before != NULL ? show_time(pair->before->busy_ns) : "",
				   pair->after != NULL ? show_time(pair->after->busy_ns) : "",
				   changed ? compare_ratio(pair->before->busy_ns,
							   pair->after->busy_ns, noise_tenths)
					   : "" });
}

static void kernels(FILE *to, const struct compare_pair *pairs, size_t count, unsigned noise_tenths)
{
	static const char *const columns[] = { "<kernel", "<what", "before", "after", "change" };

	if (count == 0)
		return;
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < count && i < KERNELS_MOST; i++)
		pair_row(to, &pairs[i], noise_tenths);
	page_table_end(to);
	if (count > KERNELS_MOST)
		fprintf(to, "<p class=\"soft\">and %zu more that changed less</p>\n",
			count - KERNELS_MOST);
}

/* Writes what was advised for the previous stage, and whether the prediction came true. */
static void prediction(FILE *to, const struct compare_stage *stages)
{
	char *text = NULL;
	size_t bytes;
	FILE *made = open_memstream(&text, &bytes);

	if (made == NULL)
		return;
	compare_show_prediction(made, &stages[0], stages[1].profile);
	fclose(made);
	if (text[0] != '\0')
		page_element(to, "p", text);
	free(text);
}

static void step_details(FILE *to, const struct compare_stage *stages, unsigned noise_tenths)
{
	size_t count = 0;
	struct compare_pair *pairs =
		compare_kernels(stages[0].profile, stages[1].profile, noise_tenths, &count);

	fputs("<details><summary>From ", to);
	page_text(to, compare_name(&stages[0]));
	fputs(" to ", to);
	page_text(to, compare_name(&stages[1]));
	fprintf(to, ": %s new, gone or changed</summary>\n",
		show_several((int64_t)count, "kernel is", "kernels are"));
	prediction(to, stages);
	kernels(to, pairs, count, noise_tenths);
	fputs("</details>\n", to);
	free(pairs);
}

void html_comparison(FILE *to, const struct compare_stage *stages, size_t count,
		     unsigned noise_tenths)
{
	fputs("<div class=\"comparison\">\n", to);
	table(to, stages, count, noise_tenths);
	fputs("</div>\n", to);
	for (size_t i = 1; i < count; i++)
		step_details(to, &stages[i - 1], noise_tenths);
}
