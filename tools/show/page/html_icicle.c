/*
 * html_icicle.c - call chains of host samples as an icicle chart: boxes with callers above callees.
 *
 * The width of a box is its share of all samples.
 */
#include "show/page/html.h"
#include "analyze/host_code.h"
#include "show/page/page.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"

#include <stdlib.h>
#include <string.h>

#define ROW_HEIGHT 24 /* as in page.js */
#define LEAST      20 /* width of the narrowest box, in hundredths of a percent */
#define BOXES_MOST 400

/* Chains that begin with the same functions, and their samples. */
struct box {
	const char *name; /* of the last of these functions */
	const struct host_chain *from, *end;
	int64_t samples;
};

struct drawing {
	FILE *to;
	struct profile *profile;
	int64_t all;
	int boxes, rows;
};

static int by_samples(const void *left, const void *right)
{
	const struct box *a = left, *b = right;

	return sorted_numbers(b->samples, a->samples) ?: strcmp(a->name, b->name);
}

/* Returns the boxes below a box, with the function at `depth` in addition; largest first. */
static struct box *boxes_below(struct profile *profile, const struct box *box, size_t depth,
			       size_t *ret_count)
{
	struct box *boxes =
		profile_allocate(profile, (size_t)(box->end - box->from), sizeof(*boxes));
	size_t count = 0;

	for (const struct host_chain *chain = box->from; chain < box->end; chain++) {
		struct box *last = count > 0 ? &boxes[count - 1] : NULL;

		if (chain->count <= depth)
			continue;
		if (last == NULL || strcmp(last->name, chain->names[depth]) != 0) {
			last = &boxes[count++];
			*last = (struct box){ .name = chain->names[depth], .from = chain };
		}
		last->end = chain + 1;
		last->samples = profile_add(last->samples, chain->samples);
	}
	if (count > 0)
		qsort(boxes, count, sizeof(*boxes), by_samples);
	*ret_count = count;
	return boxes;
}

static void percent(FILE *to, const char *name, long hundredths)
{
	fprintf(to, " %s=\"%ld.%02ld%%\"", name, hundredths / 100, hundredths % 100);
}

static void draw_box(struct drawing *drawing, const struct box *box, int row, long from, long end)
{
	FILE *to = drawing->to;

	fputs("<foreignObject", to);
	percent(to, "x", from);
	percent(to, "width", end - from);
	fprintf(to, " y=\"%d\" height=\"%d\"><div title=\"", row * ROW_HEIGHT, ROW_HEIGHT);
	page_text(to, text_name(box->name, 120));
	fprintf(to, ": %s, %s\">", text_share(box->samples, drawing->all),
		text_time(host_code_ns(drawing->profile, box->samples)));
	page_text(to, text_name(box->name, 60));
	fputs("</div></foreignObject>\n", to);
	drawing->boxes++;
	drawing->rows = row >= drawing->rows ? row + 1 : drawing->rows;
}

/* Recursion is limited by PROFILE_FRAMES_MOST. */
static void draw(struct drawing *drawing, const struct box *box, int row, int64_t from)
{
	long left = page_share(from, drawing->all);
	long right = page_share(profile_add(from, box->samples), drawing->all);
	size_t count;

	if (right - left < LEAST || drawing->boxes >= BOXES_MOST)
		return;
	draw_box(drawing, box, row, left, right);
	struct box *boxes = boxes_below(drawing->profile, box, (size_t)row, &count);
	for (size_t i = 0; i < count; i++) {
		draw(drawing, &boxes[i], row + 1, from);
		from = profile_add(from, boxes[i].samples);
	}
}

void html_icicle(FILE *to, struct profile *profile)
{
	struct drawing drawing = { .profile = profile };
	char *boxes = NULL;
	size_t count;
	const struct host_chain *chains = host_chains(profile, &count);
	struct box root = { "all samples", chains, chains + count, 0 };

	for (size_t i = 0; i < count; i++)
		root.samples = profile_add(root.samples, chains[i].samples);
	drawing.all = root.samples;
	drawing.to = page_in_memory(&boxes);
	draw(&drawing, &root, 0, 0);
	fclose(drawing.to);
	if (drawing.rows > 1)
		fprintf(to,
			"<svg class=\"icicle\" role=\"img\" width=\"100%%\" height=\"%d\" "
			"aria-label=\"call chains of host code: callers above what they call\">\n"
			"%s</svg>\n",
			drawing.rows * ROW_HEIGHT, boxes);
	free(boxes);
}
