/*
 * html_icicle.c - call chains of host samples as an icicle chart: boxes with callers above callees.
 *
 * The width of a box is its share of all samples.
 */
#include "show/page/html.h"
#include "analyze/host_code.h"
#include "show/page/page.h"
#include "profile/texts.h"

#include <stdlib.h>
#include <string.h>

#define ROW_HEIGHT 24 /* as in page.js */
#define LEAST      20 /* width of the narrowest box, in hundredths of a percent */
#define BOXES_MOST 400

struct node {
	const char *name;
	int64_t samples;
	struct node *children, *next;
	size_t child_count;
};

struct drawing {
	FILE *to;
	struct profile *profile;
	int64_t all;
	int boxes, rows;
};

/*
 * `path` holds the nodes of the previous chain; the two chains share the nodes of their common
 * start.
 */
static void add_chain(struct profile *profile, const struct host_chain *chain, struct node **path)
{
	bool is_same = true;

	path[0]->samples = profile_add(path[0]->samples, chain->samples);
	for (size_t i = 0; i < chain->count; i++) {
		struct node *caller = path[i];

		is_same = is_same && path[i + 1] != NULL &&
			  strcmp(path[i + 1]->name, chain->names[i]) == 0;
		if (!is_same) {
			path[i + 1] = profile_allocate(profile, 1, sizeof(*path[i + 1]));
			path[i + 1]->name = chain->names[i];
			path[i + 1]->next = caller->children;
			caller->children = path[i + 1];
			caller->child_count++;
		}
		path[i + 1]->samples = profile_add(path[i + 1]->samples, chain->samples);
	}
	/* The next chain must not share nodes deeper than this chain. */
	path[chain->count + 1] = NULL;
}

static int by_samples(const void *left, const void *right)
{
	const struct node *a = *(struct node *const *)left, *b = *(struct node *const *)right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Returns the children in order of samples, largest first. */
static struct node **sorted_children(struct profile *profile, const struct node *node)
{
	struct node **sorted = profile_allocate(profile, node->child_count, sizeof(*sorted));
	size_t count = 0;

	for (struct node *child = node->children; child != NULL; child = child->next)
		sorted[count++] = child;
	if (count > 0)
		qsort(sorted, count, sizeof(*sorted), by_samples);
	return sorted;
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
	page_text(to, text_name(node->name, 120));
	fprintf(to, ": %s, %s\">", text_share(node->samples, drawing->all),
		text_time(host_code_ns(drawing->profile, node->samples)));
	page_text(to, text_name(node->name, 60));
	fputs("</div></foreignObject>\n", to);
	drawing->boxes++;
	drawing->rows = row >= drawing->rows ? row + 1 : drawing->rows;
}

static long place_of(const struct drawing *drawing, int64_t samples)
{
	return page_share(samples, drawing->all);
}

/* Recursion is limited by PROFILE_FRAMES_MOST. */
static void draw(struct drawing *drawing, const struct node *node, int row, int64_t from)
{
	long left = place_of(drawing, from);
	long right = place_of(drawing, profile_add(from, node->samples));

	if (right - left < LEAST || drawing->boxes >= BOXES_MOST)
		return;
	box(drawing, node, row, left, right);
	struct node **children = sorted_children(drawing->profile, node);
	for (size_t i = 0; i < node->child_count; i++) {
		draw(drawing, children[i], row + 1, from);
		from = profile_add(from, children[i]->samples);
	}
}

void html_icicle(FILE *to, struct profile *profile)
{
	struct node root = { .name = "all samples" };
	struct node *path[PROFILE_FRAMES_MOST + 2] = { &root };
	struct drawing drawing = { .profile = profile };
	char *boxes = NULL;
	size_t bytes, count;

	const struct host_chain *chains = host_chains(profile, &count);
	for (size_t i = 0; i < count; i++)
		add_chain(profile, &chains[i], path);
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
