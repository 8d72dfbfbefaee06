/*
 * Porting stages next to each other.
 */
#ifndef HP_TOOLS_COMPARE_COMPARE_H
#define HP_TOOLS_COMPARE_COMPARE_H

#include "analyze/advice.h"
#include "compare/compare_verdict.h"
#include "profile/profile.h"
#include "tables/table.h"

struct compare_stage {
	const struct profile *profile; /* the run of median wall time, or all ranks added up */
	struct profile merged;         /* all ranks, or all zeros */
	const struct profile **runs;
	size_t run_count;
	bool repeated;             /* the runs are repeats, not ranks */
	int64_t least_ns, most_ns; /* wall times of repeats */
};

/*
 * Groups the profiles into stages by label, in the order of appearance.  The file name of a profile
 * without a label is its label.  Repeats of a stage are ordered by wall time, ranks by file.
 * Returns the number of stages, which compare_stages_free() frees.  Returns 0 if files of one
 * stage are neither repeats nor ranks, and says why on stderr.
 */
size_t compare_stages(struct profile *profiles, size_t count, struct compare_stage **ret);
void compare_stages_free(struct compare_stage *stages, size_t count);

/*
 * Returns the noise of two stages in tenths of a percent, as compare_noise_of() of their runs; at
 * least `least_tenths`.
 */
#define COMPARE_NOISE_TENTHS 20
unsigned compare_noise(const struct compare_stage *before, const struct compare_stage *after,
		       unsigned least_tenths);

/* True if both stages were repeated, so that their runs tell the noise. */
bool compare_has_noise(const struct compare_stage *before, const struct compare_stage *after);

/* Says how to learn the noise, after an unclear verdict. */
#define COMPARE_REPEAT "Run each at least twice, as `hotpin bench -n 5` does"

/* Returns "7.4 times as fast", "1.25 times as long"; or "3.2 % less" for a small change. */
const char *compare_how_much(int64_t before_ns, int64_t after_ns);

/* Returns "2: one kernel" with the quotation marks, escaped.  Lives as texts of texts.h do. */
const char *compare_name(const struct compare_stage *stage);

/*
 * Returns the text as code of Markdown, in which nothing is a link, an image, a mention or HTML. In
 * a table, a bar needs a backslash.  Lives as texts of texts.h do.
 */
#define COMPARE_CODE_ROOM 512
const char *compare_code(const char *text, bool in_table);

/*
 * The figures of a stage: the columns of table_summary that have a head; others have no key.  Some
 * may be UNKNOWN.
 */
#define COMPARE_FIGURES 32
struct compare_figure {
	const char *key;
	int64_t value, least, most; /* least, most: of the repeats */
};
void compare_figures(const struct compare_stage *stage, struct compare_figure ret[COMPARE_FIGURES]);

/* Returns the noise of that figure, as compare_noise() does. */
unsigned compare_figure_noise(const struct compare_figure *before,
			      const struct compare_figure *after, unsigned least_tenths);

/*
 * True if the table has a row for the figure: at least two stages know it and it is not 0, and no
 * other row has it by a better clock.
 */
bool compare_has_row(const struct compare_figure (*all)[COMPARE_FIGURES], size_t count, int figure);

/* True if the figure is 0, or the rate of copies that did not occur. */
bool compare_is_nothing(const struct compare_figure all[COMPARE_FIGURES], int figure);

/* Return the figure's name in the comparison, and its unit. */
const char *compare_figure_name(int figure);
enum table_unit compare_figure_unit(int figure);

/* Stages that are compared, and the noise that is at least assumed. */
struct comparison {
	const struct compare_stage *stages;
	size_t count;
	size_t from, to;       /* the stages that a table shows */
	unsigned least_tenths; /* of a percent */
	bool given;            /* the user stated the noise */
	bool as_code;          /* of Markdown: labels */
};

/* The stages, a row each; `with` is a struct comparison.  Its CSV has a stage of each profile. */
extern const struct table compare_stage_table;

/*
 * Makes the table of figures: a column for each stage, and its change against the previous one.
 * Shows stages from comparison->from on, so many that they take `columns`, and sets comparison->to.
 */
void compare_make_table(struct comparison *comparison, size_t columns, struct table *ret);

/*
 * What changed from stage from - 1 to stage from: what was predicted, kernels, and the NVTX ranges.
 * `with` is a struct comparison.
 */
extern const struct table compare_kernel_table, compare_range_table;

/* Judges the last stage against the previous one. */
enum compare_verdict compare_last(const struct comparison *comparison);

/* Returns `"b" takes 5 s less than "a" (2.0 times as fast).`, and what to do if that is unclear. */
const char *compare_sentence(const struct comparison *comparison);

/* Returns "-80.6 %", or "x12" for a large factor, "new", "~noise"; "" if there is nothing to say.
 */
const char *compare_change(int64_t before, int64_t after, unsigned noise_tenths);

/* An advice of a stage, compared with the next stage's wall time. */
struct compare_prediction {
	struct advice advice;
	int64_t wall_ns; /* predicted with that change: the least, or about, if an estimate */
	int64_t off_ns;  /* the next stage's wall time minus wall_ns; may be negative */
};

/* True if `hotpin run --observe` made the profile. */
bool compare_was_observed(const struct profile *profile);

/*
 * Compares the prediction with the next stage.  The advice is the first one, but if only hotpin
 * made the difference, it is the one that hotpin carries out.  False: there is none that saves 1 %
 * or more.
 */
bool compare_predict(const struct profile *before, const struct profile *after,
		     struct compare_prediction *ret);

/* What compare_gate() says of the stages: which files they are, a note, a reason against. */
enum compare_remark { COMPARE_STAGE, COMPARE_NOTE, COMPARE_AGAINST };
struct compare_listener {
	void (*say)(void *arg, enum compare_remark kind, const char *text); /* one line */
	void *arg;
};

/* Says what a reader must know first.  Returns the number of reasons against a comparison. */
int compare_gate(const struct compare_listener *to, const struct compare_stage *stages,
		 size_t count);

#endif
