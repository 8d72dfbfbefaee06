/*
 * html_comparison.c - figures of porting stages, and the changes from one stage to the next.
 */
#include "show/page/html.h"
#include "show/compare_show.h"
#include "show/page/table_page.h"
#include "show/page/page.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

static void comparison_row(FILE *to, struct compare_figure (*all)[COMPARE_FIGURES], size_t count,
			   int figure)
{
	const char *name = compare_figure_name(figure);

	fprintf(to, "<tr><th scope=\"row\" class=\"text\">%s%s</th>",
		name[0] == ' ' ? "&#160;&#160;" : "", name + strspn(name, " "));
	for (size_t i = 0; i < count; i++) {
		int64_t value = all[i][figure].value;

		fprintf(to, "<td>%s", compare_figure_shown(figure, value));
		if (i > 0)
			fprintf(to, " <small>%s</small>",
				compare_change(all[i - 1][figure].value, value,
					       compare_figure_noise(&all[i - 1][figure],
								    &all[i][figure],
								    COMPARE_NOISE_TENTHS)));
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
				text_time(predicted.wall_ns));
		else
			fputs("<td></td>", to);
	}
	fputs("</tr>\n", to);
}

static void table(FILE *to, const struct compare_stage *stages, size_t count)
{
	struct compare_figure(*all)[COMPARE_FIGURES] = calloc(count, sizeof(*all));
	bool is_repeated = false;

	if (all == NULL)
		return;
	fputs("<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\"></th>", to);
	for (size_t i = 0; i < count; i++) {
		compare_figures(&stages[i], all[i]);
		is_repeated |= stages[i].repeated;
		fputs("<th scope=\"col\">", to);
		page_text(to, text_name(stages[i].profile->stage, 32));
		fputs("</th>", to);
	}
	fputs("</tr></thead>\n<tbody>\n", to);
	for (int figure = 0; figure < COMPARE_FIGURES; figure++)
		if (compare_has_row((const struct compare_figure(*)[COMPARE_FIGURES])all, count,
				    figure))
			comparison_row(to, all, count, figure);
	predicted_row(to, stages, count);
	fputs("</tbody>\n</table></div>\n", to);
	free(all);
	fputs("<p class=\"soft\">Each stage is compared with the previous one; the noise is ", to);
	for (size_t i = 1; i < count; i++) {
		unsigned tenths = compare_noise(&stages[i - 1], &stages[i], COMPARE_NOISE_TENTHS);

		fprintf(to, "%s%u.%u %%", i > 1 ? ", " : "", tenths / 10, tenths % 10);
	}
	fprintf(to, "%s.</p>\n", is_repeated ? "" : ", assumed");
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

static void step_details(FILE *to, const struct compare_stage *stages)
{
	unsigned noise_tenths = compare_noise(&stages[0], &stages[1], COMPARE_NOISE_TENTHS);
	struct compare_pairs pairs =
		compare_kernels(stages[0].profile, stages[1].profile, noise_tenths);

	fputs("<details><summary>From ", to);
	page_text(to, compare_name(&stages[0]));
	fputs(" to ", to);
	page_text(to, compare_name(&stages[1]));
	fprintf(to, ": %s new, gone or changed</summary>\n",
		text_several((int64_t)pairs.count, "kernel is", "kernels are"));
	prediction(to, stages);
	table_page(to, &compare_kernel_table, stages[1].profile, &pairs, NULL);
	fputs("</details>\n", to);
	free(pairs.items);
}

void html_comparison(FILE *to, const struct compare_stage *stages, size_t count)
{
	fputs("<div class=\"comparison\">\n", to);
	table(to, stages, count);
	fputs("</div>\n", to);
	for (size_t i = 1; i < count; i++)
		step_details(to, &stages[i - 1]);
}
