/*
 * html_icicle.c - call chains of host samples as a tree of boxes, callers above what they call.
 *
 * A box is as wide as its share of all samples.
 */
#include "html.h"
#include "host_code.h"
#include "names.h"
#include "page.h"
#include "show.h"

#include <stdlib.h>
#include <string.h>

#define ROW_HEIGHT 24 /* as page_icicle.js has it */
#define LEAST      20 /* narrowest box, in hundredths of a percent */
#define BOXES_MOST 400

struct node {
	const char *name;
	int64_t samples;
	struct node *children, *next;
};

struct drawing {
	FILE *to;
	const struct profile *profile;
	int64_t all;
	int boxes, rows;
};

static const char *name_of(const struct profile *profile, const struct profile_frame *frame)
{
	if (frame->module < 0)
		return frame->function != NULL ? frame->function : "code in no file";
	return host_code_has_name(profile, frame) ? frame->function : names_module(profile, frame);
}

static struct node *child_of(struct profile *profile, struct node *node, const char *name)
{
	struct node **at = &node->children;

	while (*at != NULL && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	if (*at == NULL) {
		*at = profile_allocate(profile, 1, sizeof(**at));
		(*at)->name = name;
	}
	return *at;
}

static void add_sample(struct profile *profile, struct node *root,
		       const struct profile_sample *sample)
{
	int64_t samples = host_code_samples(sample);
	struct node *node = root;

	root->samples = profile_add(root->samples, samples);
	for (size_t i = sample->frames.count; i > 0; i--) {
		node = child_of(profile, node, name_of(profile, &sample->frames.items[i - 1]));
		node->samples = profile_add(node->samples, samples);
	}
}

/* Takes the child with most samples out of the list. */
static struct node *take_largest(struct node **list)
{
	struct node **largest = list;

	for (struct node **at = list; *at != NULL; at = &(*at)->next)
		if ((*at)->samples > (*largest)->samples)
			largest = at;
	struct node *found = *largest;
	if (found != NULL)
		*largest = found->next;
	return found;
}

static void percent(FILE *to, const char *name, long hundredths)
{
	fprintf(to, " %s=\"%ld.%02ld%%\"", name, hundredths / 100, hundredths % 100);
}

static void box(struct drawing *drawing, const struct node *node, int row, long from, long end)
{
	FILE *to = drawing->to;

	fputs("<foreignObject", to);
	percent(to, "x", from);
	percent(to, "width", end - from);
	fprintf(to, " y=\"%d\" height=\"%d\"><div title=\"", row * ROW_HEIGHT, ROW_HEIGHT);
	page_text(to, show_text(node->name, 120));
	fprintf(to, ": %s, %s\">", show_share(node->samples, drawing->all),
		show_time(host_code_ns(drawing->profile, node->samples)));
	page_text(to, show_text(node->name, 60));
	fputs("</div></foreignObject>\n", to);
	drawing->boxes++;
	drawing->rows = row >= drawing->rows ? row + 1 : drawing->rows;
}

static long place_of(const struct drawing *drawing, int64_t samples)
{
	return page_share(samples, drawing->all);
}

/* Rows are bounded by PROFILE_FRAMES_MOST. */
static void draw(struct drawing *drawing, struct node *node, int row, int64_t from)
{
	long left = place_of(drawing, from);
	long right = place_of(drawing, profile_add(from, node->samples));

	if (right - left < LEAST || drawing->boxes >= BOXES_MOST)
		return;
	box(drawing, node, row, left, right);
	for (struct node *child; (child = take_largest(&node->children)) != NULL;) {
		draw(drawing, child, row + 1, from);
		from = profile_add(from, child->samples);
	}
}

void html_icicle(FILE *to, struct profile *profile)
{
	struct node root = { .name = "all samples" };
	struct drawing drawing = { .profile = profile };
	char *boxes = NULL;
	size_t bytes;

	for (size_t i = 0; i < profile->sample_count; i++)
		add_sample(profile, &root, &profile->samples[i]);
	drawing.all = root.samples;
	drawing.to = open_memstream(&boxes, &bytes);
	if (drawing.to == NULL)
		exit(EXIT_FAILURE);
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
