/*
 * compare.c - `hotpin compare`: what each porting stage gained or lost.
 *
 * Files of one stage are its repeats, which tell how much of a difference is noise, or its ranks.
 */
#include "show/compare_show.h"
#include "show/compare_json.h"
#include "cmd/commands.h"
#include "system/messages.h"
#include "show/layout.h"
#include "names/names_find.h"
#include "analyze/places.h"
#include "analyze/ranks.h"
#include "profile/profile_open.h"
#include "profile/texts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum form { FORM_TEXT, FORM_MARKDOWN, FORM_JSON };

/* Returns a percentage like "2" or "2.5" in tenths, or -1 if it is invalid. */
static int read_percent(const char *text)
{
	char *end;
	long whole = strtol(text, &end, 10);

	if (end == text || text[0] < '0' || text[0] > '9' || whole > 1000)
		return -1;
	if (*end == '\0')
		return (int)whole * 10;
	if (end[0] != '.' || end[1] < '0' || end[1] > '9' || end[2] != '\0')
		return -1;
	return (int)whole * 10 + end[1] - '0';
}

struct noise {
	unsigned tenths; /* the least, of a percent */
	bool given;      /* given by --noise */
};

/* Returns "+-2.0 %, +-9.6 % (3 runs each)", a noise for each change. */
static const char *noise_words(const struct compare_stage *stages, size_t count,
			       const struct noise *noise)
{
	char text[400];
	size_t least = stages[0].run_count, most = 0, used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t runs = stages[i].repeated ? stages[i].run_count : 1;

		least = runs < least ? runs : least;
		most = runs > most ? runs : most;
	}
	for (size_t i = 1; i < (most > 1 ? count : 2) && used < sizeof(text) / 2; i++) {
		unsigned tenths = compare_noise(&stages[i - 1], &stages[i], noise->tenths);

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%u.%u %%",
					 i > 1 ? ", " : "", layout_is_utf8() ? "\u00b1" : "+-",
					 tenths / 10, tenths % 10);
	}
	if (most > 1 && least == most)
		snprintf(text + used, sizeof(text) - used, " (%zu runs each)", most);
	else if (most > 1)
		snprintf(text + used, sizeof(text) - used, " (%zu to %zu runs each)", least, most);
	else
		snprintf(text + used, sizeof(text) - used, "%s",
			 noise->given ? ", as given; one run each" : ", assumed: one run each");
	return text_made("%s", text);
}

/* True if the noise of two stages is known. */
static bool is_known(const struct compare_stage *before, const struct compare_stage *after,
		     const struct noise *noise)
{
	return noise->given || compare_has_noise(before, after);
}

static enum compare_verdict judge(const struct compare_stage *before,
				  const struct compare_stage *after, const struct noise *noise)
{
	return compare_judge(before->profile->wall_ns, after->profile->wall_ns,
			     compare_noise(before, after, noise->tenths),
			     is_known(before, after, noise));
}

/* Only the last step counts: what earlier stages lost was reported before. */
static int status_of(const struct compare_stage *stages, size_t count, const struct noise *noise)
{
	return judge(&stages[count - 2], &stages[count - 1], noise) == COMPARE_SLOWER ? EXIT_SLOWER
										      : 0;
}

/* The sentence has at most three names. */
#define NAME_ROOM     COMPARE_CODE_ROOM
#define SENTENCE_ROOM (3 * NAME_ROOM + 600)

static const char *name_of(const struct compare_stage *stage, enum form form)
{
	return form == FORM_MARKDOWN ? compare_code(stage->profile->stage, false)
				     : compare_name(stage);
}

/*
 * Returns "takes 5 s less than "2" (2.0 times as fast)", or "is as fast as "2" within the noise".
 */
static const char *against(const struct compare_stage *before, const struct compare_stage *after,
			   const struct noise *noise, enum form form, char *ret, size_t room)
{
	int64_t was = before->profile->wall_ns, is = after->profile->wall_ns;
	enum compare_verdict verdict = judge(before, after, noise);

	if (verdict == COMPARE_SAME)
		snprintf(ret, room, "is as fast as %s within the noise", name_of(before, form));
	else if (was == is || (verdict == COMPARE_UNCLEAR && is_known(before, after, noise)))
		snprintf(ret, room, "cannot be distinguished from %s", name_of(before, form));
	else
		snprintf(ret, room, "takes %s than %s (%s)", text_change(was, is),
			 name_of(before, form), compare_how_much(was, is));
	return ret;
}

/* Returns what to do about an unclear verdict, after a blank. */
static const char *advice_of(const struct compare_stage *before, const struct compare_stage *after,
			     const struct noise *noise)
{
	return is_known(before, after, noise) ? " Repeat them on a quiet machine."
					      : " This may be noise. " COMPARE_REPEAT
						", or state the noise with --noise.";
}

static int verdict(const struct compare_stage *stages, size_t count, const struct noise *noise,
		   enum form form)
{
	const struct compare_stage *first = &stages[0], *before = &stages[count - 2],
				   *last = &stages[count - 1];
	enum compare_verdict verdict = judge(before, last, noise);
	enum layout_tone tone = form == FORM_MARKDOWN       ? LAYOUT_PLAIN
				: verdict == COMPARE_SLOWER ? LAYOUT_WORSE
				: verdict == COMPARE_FASTER ? LAYOUT_BETTER
							    : LAYOUT_PLAIN;
	const char *stars = form == FORM_MARKDOWN ? "**" : "";
	char to_last[NAME_ROOM + 200], to_first[NAME_ROOM + 200] = "", text[SENTENCE_ROOM];

	against(before, last, noise, form, to_last, sizeof(to_last));
	if (count > 2)
		against(first, last, noise, form, to_first, sizeof(to_first));
	snprintf(text, sizeof(text), "%s%s%s%s%s: %s %s%s%s.%s", stars, layout_begin(tone),
		 compare_verdict_name(verdict), layout_end(tone), stars, name_of(last, form),
		 to_last, to_first[0] != '\0' ? " and " : "", to_first,
		 verdict == COMPARE_UNCLEAR ? advice_of(before, last, noise) : "");
	if (form == FORM_MARKDOWN)
		printf("%s\n\n", text);
	else
		layout_say(4, "%s", text);
	return status_of(stages, count, noise);
}

static void legend(const struct compare_stage *stages, size_t count, const struct noise *noise)
{
	layout_say(0, "\nChanges are against the previous stage; noise %s.",
		   noise_words(stages, count, noise));
}

/* Prints a table for a pull request below its verdict; the rest is folded. */
static int show_markdown(const struct compare_stage *stages, size_t count,
			 const struct noise *noise, const char *told)
{
	int status = verdict(stages, count, noise, FORM_MARKDOWN);

	compare_show_table(stages, count, noise->tenths, true);
	legend(stages, count, noise);
	printf("\n<details><summary>Runs, kernels and bounds</summary>\n\n```text\n%s", told);
	compare_show_steps(stages, count, noise->tenths);
	puts("```\n\n</details>");
	return status;
}

/* Prints the comparison; returns the exit status. */
static int show(const struct compare_stage *stages, size_t count, const struct noise *noise,
		enum form form, const char *told)
{
	if (form == FORM_JSON) {
		compare_json(stages, count, noise->tenths, noise->given);
		return status_of(stages, count, noise);
	}
	if (form == FORM_MARKDOWN)
		return show_markdown(stages, count, noise, told);
	compare_show_table(stages, count, noise->tenths, false);
	compare_show_steps(stages, count, noise->tenths);
	legend(stages, count, noise);
	return verdict(stages, count, noise, form);
}

/* Appends to the text that stands above the comparison; prints reasons against it on stderr. */
static void listen(void *told, enum compare_remark kind, const char *text)
{
	if (kind == COMPARE_AGAINST)
		hotpin_say("%s", text);
	else
		fprintf(told, "  %s%s\n", kind == COMPARE_NOTE ? "note: " : "", text);
}

/* *ret_told gets the notes that a reader needs first. */
static int gate(const struct compare_stage *stages, size_t count, char **ret_told)
{
	size_t bytes;
	FILE *told = open_memstream(ret_told, &bytes);

	if (told == NULL)
		return 1;
	fputs("stages\n", told);
	int found = compare_gate(&(struct compare_listener){ listen, told }, stages, count);
	fclose(told);
	return found;
}

static int compare_all(const struct compare_stage *stages, size_t count, bool force,
		       const struct noise *noise, enum form form)
{
	char *told = NULL;
	int reasons = gate(stages, count, &told), status = EXIT_APART;

	if (form == FORM_TEXT && told != NULL)
		layout_lines(6, told);
	if (form == FORM_JSON && told != NULL)
		fputs(told, stderr);
	if (reasons == 0 || force) {
		status = show(stages, count, noise, form, told != NULL ? told : "");
	} else {
		hotpin_say("the runs are not comparable; --force compares them anyway");
	}
	free(told);
	return status;
}

static int compare(struct profile *profiles, size_t count, bool force, const struct noise *noise,
		   enum form form)
{
	struct compare_stage *stages = NULL;
	size_t used = compare_stages(profiles, count, &stages);
	int status = EXIT_APART;

	if (used == 1)
		hotpin_say(
			"all files are of stage \"%s\", so there is nothing to compare; also name "
			"a file of another stage",
			text_name(profiles[0].stage, 60));
	if (used > 1)
		status = compare_all(stages, used, force, noise, form);
	compare_stages_free(stages, used);
	return status;
}

struct flags {
	struct noise noise;
	enum form form;
	bool force;
};

/* Returns -1, or the exit status if an option is invalid or asks for help. */
static int read_flags(int argc, char **argv, struct flags *ret)
{
	static const struct option longs[] = {
		{ "color", required_argument, NULL, 'c' },
		{ "force", no_argument, NULL, 'f' },
		{ "json", no_argument, NULL, 'j' },
		{ "markdown", no_argument, NULL, 'm' },
		{ "noise", required_argument, NULL, 'n' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *color = NULL;
	bool json = false, markdown = false;
	int option, tenths = COMPARE_NOISE_TENTHS;

	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("compare");
		if (option == '?')
			return hotpin_misused("compare");
		ret->force |= option == 'f';
		json |= option == 'j';
		markdown |= option == 'm';
		color = option == 'c' ? optarg : color;
		ret->noise.given |= option == 'n';
		if (option == 'n')
			tenths = read_percent(optarg);
		if (tenths < 0) {
			hotpin_say("--noise: expected a percentage like 2 or 2.5");
			return hotpin_misused("compare");
		}
	}
	if (json && markdown) {
		hotpin_say("--json and --markdown: choose one");
		return hotpin_misused("compare");
	}
	if (layout_start(color) < 0)
		return hotpin_misused("compare");
	if (argc - optind < 2) {
		hotpin_say(argc == optind
				   ? "no profiles to compare; name files of `hotpin run -o FILE "
				     "--stage LABEL`"
				   : "only one profile; also name one of another stage");
		return hotpin_misused("compare");
	}
	ret->noise.tenths = (unsigned)tenths;
	ret->form = json ? FORM_JSON : markdown ? FORM_MARKDOWN : FORM_TEXT;
	return -1;
}

int hotpin_compare(int argc, char **argv)
{
	struct flags flags = { 0 };
	int status = read_flags(argc, argv, &flags);

	if (status >= 0)
		return status;
	size_t count = (size_t)(argc - optind);
	struct profile *profiles = profile_open_all(argv + optind, count);
	if (profiles == NULL)
		return EXIT_FAILURE;
	names_resolve(profiles, count, true);
	places_merge_sites(profiles, count);
	status = compare(profiles, ranks_only(profiles, count), flags.force, &flags.noise,
			 flags.form);
	/* A failed write must not look like a slower stage. */
	if (fflush(stdout) != 0)
		status = EXIT_FAILURE;
	profile_close_all(profiles, count);
	return status;
}
