/*
 * folded.c - writes call chains of host samples as folded stacks, one a line, for flame graphs.
 *
 * A semicolon separates frames and the last blank precedes the count.  So a semicolon in a name
 * becomes a comma, and control characters are escaped.
 */
#include "show/folded.h"
#include "system/messages.h"
#include "analyze/host_code.h"
#include "names/names.h"
#include "profile/texts.h"
#include "base/units.h"

#include <stdlib.h>
#include <string.h>

struct stack {
	const char *names;
	int64_t count;
};

static void put_name(FILE *to, const char *name)
{
	size_t length = strlen(name);

	for (size_t at = 0; at < length;) {
		size_t bytes = units_printable(name + at, length - at);

		if (bytes == 0)
			fprintf(to, "\\x%02x", (unsigned char)name[at]);
		else if (name[at] == ';')
			fputc(',', to);
		else
			fwrite(name + at, 1, bytes, to);
		at += bytes > 0 ? bytes : 1;
	}
}

static void put_frame(FILE *to, const struct profile *profile, const struct profile_frame *frame)
{
	bool named =
		frame->module >= 0 ? host_code_has_name(profile, frame) : frame->function != NULL;

	if (named && frame->function[0] != '\0') {
		put_name(to, frame->function);
		return;
	}
	fputc('[', to);
	put_name(to, frame->module >= 0 ? names_module(profile, frame) : "unknown");
	fputc(']', to);
}

/* Returns the frames of a sample, root first; NULL if there is no memory. */
static char *names_of(const struct profile *profile, const struct profile_sample *sample,
		      const char *root)
{
	char *names = NULL;
	size_t bytes;
	FILE *to = open_memstream(&names, &bytes);

	if (to == NULL)
		return NULL;
	if (root != NULL)
		put_name(to, root);
	for (size_t i = sample->frames.count; i > 0; i--) {
		if (root != NULL || i < sample->frames.count)
			fputc(';', to);
		put_frame(to, profile, &sample->frames.items[i - 1]);
	}
	if (sample->frames.count == 0)
		fputs(root != NULL ? ";[unknown]" : "[unknown]", to);
	fclose(to);
	return names;
}

static int by_names(const void *left, const void *right)
{
	const struct stack *a = left, *b = right;

	return strcmp(a->names, b->names);
}

static void write_one(FILE *to, struct profile *profile, const char *root)
{
	struct stack *stacks = profile_allocate(profile, profile->sample_count, sizeof(*stacks));
	size_t count = 0;

	for (size_t i = 0; i < profile->sample_count; i++) {
		char *names = names_of(profile, &profile->samples[i], root);

		if (names != NULL)
			stacks[count++] =
				(struct stack){ names, host_code_samples(&profile->samples[i]) };
	}
	qsort(stacks, count, sizeof(*stacks), by_names);
	for (size_t i = 0, next; i < count; i = next) {
		int64_t samples = 0;

		for (next = i; next < count && strcmp(stacks[i].names, stacks[next].names) == 0;)
			samples = profile_add(samples, stacks[next++].count);
		if (samples > 0)
			fprintf(to, "%s %lld\n", stacks[i].names, (long long)samples);
	}
	for (size_t i = 0; i < count; i++)
		free((char *)stacks[i].names);
}

bool folded_write(FILE *to, struct profile *profiles, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const char *why = profiles[i].sampling.why;

		if (profiles[i].sample_count > 0)
			write_one(to, &profiles[i], count > 1 ? profiles[i].path : NULL);
		else
			hotpin_say("%s has no samples of host code%s%s",
				   text_name(profiles[i].path, 200), why != NULL ? ": " : "",
				   why != NULL ? text_name(why, 200) : "");
		any |= profiles[i].sample_count > 0;
	}
	return any;
}
