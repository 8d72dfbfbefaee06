/*
 * Porting stages next to each other.
 */
#ifndef HP_TOOLS_COMPARE_H
#define HP_TOOLS_COMPARE_H

#include "advice.h"
#include "profile.h"

#include <stdio.h>

struct compare_stage {
	const struct profile *profile; /* the run of median wall time, or all ranks added up */
	struct profile merged;         /* all ranks, or all zeros */
	const struct profile **runs;
	size_t run_count;
	bool repeated;             /* the runs are repeats, not ranks */
	int64_t least_ns, most_ns; /* wall times of repeats */
};

/*
 * Puts each profile to the stage of its label, in the order of appearance; a profile without one is
 * a stage by its file's name.  The runs of a stage are ordered by wall time, or by file of ranks.
 * Says on stderr why files of one stage are neither repeats nor ranks, and returns 0; else the
 * number of stages, which compare_stages_free() takes back.
 */
size_t compare_stages(struct profile *profiles, size_t count, struct compare_stage **ret);
void compare_stages_free(struct compare_stage *stages, size_t count);

/* Noise of wall times in tenths of a percent: how far repeats lie apart, at least what is given. */
#define COMPARE_NOISE_TENTHS 20
unsigned compare_noise(const struct compare_stage *stages, size_t count, unsigned least_tenths);

/* "7.4 times as fast", "1.25 times as long"; "3.2 % less" of what changed little. */
const char *compare_how_much(int64_t before_ns, int64_t after_ns);

/* "2: one kernel", with the quotation marks, harmless on a terminal; as show.h's texts. */
const char *compare_name(const struct compare_stage *stage);

/* Beyond this, times of one program say little: in tenths of a percent. */
#define COMPARE_NOISY_TENTHS 50

/* As show_ratio(), but what noise may hide is no "the same" where there is much of it. */
const char *compare_ratio(int64_t before, int64_t after, unsigned noise_tenths);

enum compare_form { COMPARE_TEXT, COMPARE_MARKDOWN, COMPARE_JSON };

/* The comparison, as text or as a table of Markdown; noise in tenths of a percent. */
void compare_show_table(const struct compare_stage *stages, size_t count, unsigned noise_tenths,
			enum compare_form form);

/* What changed from each stage to the next, and what the next one could save. */
void compare_show_steps(const struct compare_stage *stages, size_t count, unsigned noise_tenths);

/* All of it, for programs.  `assumed`: no repeats tell the noise. */
void compare_json(const struct compare_stage *stages, size_t count, unsigned noise_tenths,
		  bool assumed);

/* The figures of the comparison by their names in the JSON; UNKNOWN among them. */
#define COMPARE_FIGURES 19
struct compare_figure {
	const char *key;
	int64_t value;
};
void compare_figures(const struct profile *profile, struct compare_figure ret[COMPARE_FIGURES]);

/* False: no two stages know that figure above 0, or another row has it by a better clock. */
bool compare_has_row(const struct compare_figure (*all)[COMPARE_FIGURES], size_t count, int figure);

/* True of 0, and of the rate of copies that were not made. */
bool compare_is_nothing(const struct compare_figure all[COMPARE_FIGURES], int figure);

/* The name of the figure of that number in the comparison, and the text of a value of it. */
const char *compare_figure_name(int figure);
const char *compare_figure_shown(int figure, int64_t value);

/* A kernel that is new (`before` is NULL), gone (`after` is) or has changed. */
struct compare_pair {
	const struct profile_kernel *before, *after;
	int64_t weight; /* by how much */
};

/* By falling weight; the caller frees it.  NULL: not known of both, or no memory. */
struct compare_pair *compare_kernels(const struct profile *before, const struct profile *after,
				     unsigned noise_tenths, size_t *ret_count);

/* What the profile of a stage advised first, and what the next stage made of it. */
struct compare_prediction {
	struct advice advice;
	int64_t wall_ns; /* with that change: at least, or about if it is an estimate */
	int64_t off_ns;  /* the next stage's wall time less that; may be negative */
};

/* False: there was no advice that saves 1 %. */
bool compare_predict(const struct profile *before, const struct profile *after,
		     struct compare_prediction *ret);
void compare_show_prediction(FILE *to, const struct compare_stage *before,
			     const struct profile *after);

/*
 * Prints to `against`, a line each, why the stages cannot be compared, and to `to` what a reader
 * must know of those that can.  Returns how many reasons there are against it.
 */
int compare_gate(FILE *to, FILE *against, const struct compare_stage *stages, size_t count);

#endif
