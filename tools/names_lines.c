/*
 * names_lines.c - reads the answers of addr2line.
 *
 * For each address, addr2line prints the address, and a name and a source line of each function
 * that is inlined there, innermost first.  The last one is the function that contains the code.
 *
 * When GNU addr2line 2.40 first meets an inlined function that has no linkage name, it prints the
 * symbol that contains the code instead.  The second time it prints the function's name, unless the
 * function begins where the symbol does.
 */
#include "names_lines.h"
#include "names.h"

#include <stdlib.h>
#include <string.h>

#define LINE_MOST    8192 /* bytes of a name or a path, with its zero byte */
#define ANSWERS_MOST 1000 /* functions at one address; more are no answer of addr2line */
#define TEXTS_MOST   ((size_t)256 << 20) /* bytes of the names of all files */

/* The functions at one address, as far as they were read. */
struct chain {
	struct profile_frame inner[PROFILE_FRAMES_MOST]; /* inlined; innermost first */
	size_t count, read;
	struct profile_frame last; /* the last one that was read */
};

const char *names_copy(struct profile *owner, const char *text)
{
	size_t bytes = strlen(text) + 1;

	if (bytes > TEXTS_MOST - owner->name_bytes)
		return NULL;
	owner->name_bytes += bytes;
	return profile_copy(owner, text);
}

/* Reads a line without its end; a line that is too long becomes "". */
static bool read_line(FILE *from, char line[LINE_MOST])
{
	size_t length = 0;
	int byte = EOF;

	while ((byte = fgetc(from)) != EOF && byte != '\n') {
		if (length < LINE_MOST - 1)
			line[length] = (char)byte;
		length++;
	}
	line[length < LINE_MOST ? length : 0] = '\0';
	return byte != EOF;
}

/* Reads a line like "/home/me/solve.cu:42 (discriminator 3)"; "??:0" is none. */
static void read_place(struct profile *owner, char *line, struct profile_frame *ret)
{
	char *note = strstr(line, " (discriminator ");

	if (note != NULL)
		*note = '\0';
	char *colon = strrchr(line, ':');
	if (colon == NULL || colon[1] < '1' || colon[1] > '9' || line[0] == '?')
		return;
	int64_t number = strtoll(colon + 1, NULL, 10);
	if (number > INT32_MAX)
		return;
	const char *slash = strrchr(line, '/');
	const char *shown = names_copy(owner, slash != NULL ? slash + 1 : line);
	*colon = '\0';
	const char *path = names_copy(owner, line);
	if (shown == NULL || path == NULL)
		return;
	ret->line = shown;
	ret->path = path;
	ret->number = number;
}

static void take_line(struct profile_frame *to, const struct profile_frame *from)
{
	to->line = from->line;
	to->path = from->path;
	to->number = from->number;
}

static bool is_same_function(const struct profile_frame *a, const struct profile_frame *b)
{
	return a->function != NULL && b->function != NULL && strcmp(a->function, b->function) == 0;
}

/*
 * Adds the function that the last one was inlined into.  Code that was inlined from a library's
 * header counts for the line that it was inlined into.  An inlined function without a name is a
 * part of the function around it.
 */
static void add_outer(struct chain *chain, const struct profile_frame *outer)
{
	struct profile_frame inner = chain->last;

	chain->last = *outer;
	if (inner.line == NULL || names_is_system_source(inner.path))
		return;
	if (inner.function == NULL || is_same_function(&inner, outer))
		take_line(&chain->last, &inner);
	else if (chain->count < PROFILE_FRAMES_MOST)
		chain->inner[chain->count++] = inner;
}

/*
 * An inlined function that has the name of the symbol around it is a part of the function that it
 * was inlined into: addr2line does not know its name.
 */
static void drop_symbol(struct chain *chain, const struct profile_frame *symbol)
{
	size_t kept = 0;

	for (size_t i = 0; i < chain->count; i++) {
		const struct profile_frame *inner = &chain->inner[i];

		if (is_same_function(inner, symbol) || is_same_function(inner, &chain->last))
			take_line(i + 1 < chain->count ? &chain->inner[i + 1] : &chain->last,
				  inner);
		else
			chain->inner[kept++] = *inner;
	}
	chain->count = kept;
}

static void keep(struct profile *owner, struct chain *chain, struct profile_frame *frame)
{
	struct profile_frames *inlined = NULL;

	drop_symbol(chain, frame);
	if (chain->count > 0) {
		inlined = profile_allocate(owner, 1, sizeof(*inlined));
		inlined->count = chain->count;
		inlined->items = profile_allocate(owner, chain->count, sizeof(*inlined->items));
		memcpy(inlined->items, chain->inner, chain->count * sizeof(*inlined->items));
	}
	frame->inlined = inlined;
	take_line(frame, &chain->last);
	if (frame->function == NULL && frame->line != NULL)
		frame->function = chain->last.function;
}

void names_lines_read(struct profile *owner, FILE *answers, struct profile_frame *const *frames,
		      size_t count)
{
	char line[LINE_MOST], place[LINE_MOST];
	struct chain chain = { .count = 0 };
	size_t seen = 0;

	while (read_line(answers, line)) {
		struct profile_frame function = { .function = NULL };

		if (strncmp(line, "0x", 2) == 0) {
			if (seen > 0)
				keep(owner, &chain, frames[(seen - 1) / NAMES_LINES_TIMES]);
			chain = (struct chain){ .count = 0 };
			if (++seen > count * NAMES_LINES_TIMES)
				return;
			continue;
		}
		if (++chain.read > ANSWERS_MOST || !read_line(answers, place))
			break;
		if (line[0] != '?' && line[0] != '\0')
			function.function = names_copy(owner, line);
		read_place(owner, place, &function);
		add_outer(&chain, &function);
	}
	if (seen > 0)
		keep(owner, &chain, frames[(seen - 1) / NAMES_LINES_TIMES]);
}
