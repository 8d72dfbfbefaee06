/*
 * html_time.c - the section on the wall time of a run, by state.
 */
#include "show/page/html.h"
#include "show/page/page.h"
#include "analyze/run_notes.h"
#include "profile/texts.h"

#include <string.h>

#define PLACE_MOST 60 /* characters of a place in the headline; longer ones are below it anyway */

/* For a profile without device times: the host time of the calls. */
static void say_largest_calls(FILE *to, const struct profile *profile)
{
	bool waits = profile->host.waits_ns > profile->host.copy_calls_ns;
	int64_t ns = waits ? profile->host.waits_ns : profile->host.copy_calls_ns;

	fprintf(to, "%s take %s of %s (%s). ", waits ? "Calls that wait" : "Calls that copy",
		text_time(ns), text_time(profile->wall_ns), text_share(ns, profile->wall_ns));
}

static void say_largest(FILE *to, const struct profile *profile)
{
	unsigned tenths[TEXT_PARTS];
	int largest = 0;

	text_split_tenths(&profile->split, tenths);
	for (int part = 1; part < TEXT_PARTS; part++)
		if (text_part_ns(&profile->split, part) > text_part_ns(&profile->split, largest))
			largest = part;
	int64_t ns = text_part_ns(&profile->split, largest);
	fprintf(to, "%s: %s of %s (%u.%u %%). ", text_parts[largest].title, text_time(ns),
		text_time(profile->wall_ns), tenths[largest] / 10, tenths[largest] % 10);
}

static void say_first(FILE *to, const struct profile *profile, const struct advice_list *advice)
{
	const struct advice *first = &advice->items[0];

	if (profile->process.exit_status > 0) {
		fputs("The program failed; fix it first.", to);
	} else if (advice->is_done) {
		fputs(advice_nothing(advice), to);
	} else if (advice->count > 0 && advice_is_worth(profile, first)) {
		fputs("First: ", to);
		page_text(to, text_name(first->what, ADVICE_TEXT));
		if (first->where[0] != '\0' && strlen(first->where) <= PLACE_MOST) {
			fputs(" (", to);
			page_text(to, text_name(first->where, ADVICE_TEXT));
			fputs(")", to);
		}
		fprintf(to, ", which saves %s %s (%s).", first->is_estimate ? "about" : "at most",
			text_time(first->saves_ns), text_share(first->saves_ns, profile->wall_ns));
	} else if (!profile_has_split(profile)) {
		fputs("Most changes cannot be judged without a split of the wall time.", to);
	} else if (!profile_used_no_device(profile)) {
		fputs(advice_nothing(advice), to);
	}
}

void html_headline(FILE *to, const struct profile *profile, const struct advice_list *advice)
{
	fputs("<p class=\"headline\">", to);
	(profile_has_split(profile) ? say_largest : say_largest_calls)(to, profile);
	say_first(to, profile, advice);
	fputs("</p>\n", to);
}

static void sentence(void *to, const char *text)
{
	page_element(to, "p", text);
}

void html_time(FILE *to, const struct profile *profile)
{
	if (!profile_has_split(profile)) {
		page_element(to, "p class=\"note\"", text_no_split(profile));
		run_blocked(profile, sentence, to);
		return;
	}
	page_split_bar(to, &profile->split, 1, 1);
	page_split_legend(to, &profile->split, profile->wall_ns);
	page_strip(to, profile);
	if (profile_used_no_device(profile)) {
		page_element(to, "p", "The program used no device.");
		return;
	}
	run_blocked(profile, sentence, to);
}
