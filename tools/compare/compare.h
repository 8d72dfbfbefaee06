/*
 * Porting stages next to each other.
 */
#ifndef HP_TOOLS_COMPARE_COMPARE_H
#define HP_TOOLS_COMPARE_COMPARE_H

#include "compare/compare_verdict.h"
#include "profile/profile.h"
#include "tables/table.h"

struct compare_stage {
	const struct profile *profile; /* the run of median wall time, or all ranks added up */
	struct profile merged;         /* all ranks, or all zeros */
	const struct profile **runs;
	size_t run_count;
	bool repeated;              /* the runs are repeats, not ranks */
	struct compare_times walls; /* wall times of repeats, or the one of `profile` */
};

/*
 * Groups the profiles into stages by label, in the order of appearance.  The file name of a profile
 * without a label is its label.  Repeats of a stage are ordered by wall time, ranks by file.
 * Returns the number of stages, which are in memory of the first profile; close them before it.
 * Returns 0 if files of one stage are neither repeats nor ranks, and says why on stderr.
 */
size_t compare_stages(struct profile *profiles, size_t count, struct compare_stage **ret);
void compare_stages_close(struct compare_stage *stages, size_t count);

/* Returns "7.4 times as fast", "1.25 times as long"; or "3.2 % less" for a small change. */
const char *compare_how_much(int64_t before_ns, int64_t after_ns);

/* Returns "2: one kernel" with the quotation marks, escaped. */
const char *compare_name(const struct compare_stage *stage);

/* Stages that are compared, and the noise that is at least assumed. */
#define COMPARE_NOISE_TENTHS 20
struct comparison {
	const struct compare_stage *stages;
	size_t count;
	size_t from, to;       /* the stages that a table shows */
	unsigned least_tenths; /* of a percent */
	bool given;            /* the user stated the noise */
};

/* What changed from a stage to the next one. */
struct compare_step {
	const struct compare_stage *before, *after;
	unsigned noise_tenths;        /* compare_noise_of() their wall times */
	bool is_known;                /* repeats of both stages, or the user, tell the noise */
	enum compare_verdict verdict; /* on their wall times */
};
struct compare_step compare_step(const struct comparison *comparison, size_t before, size_t after);

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

/*
 * Returns `FASTER: "b" takes 5 s less than "a" (2.0 times as fast).`, and what to do if that is
 * unclear.
 */
const char *compare_sentence(const struct comparison *comparison);

/* Returns "-80.6 %", or "x12" for a large factor, "new", "~noise"; "" if there is nothing to say.
 */
const char *compare_change(int64_t before, int64_t after, unsigned noise_tenths);

/* Returns the wall time that the previous stage predicts for a stage; 0: none. */
struct table_cell compare_predicted(const struct comparison *comparison, size_t stage);

/* True if `hotpin run --observe` made the profile. */
bool compare_was_observed(const struct profile *profile);

/*
 * What a reader must know first, in lines of text_add_line(): the files of each stage, notes, and
 * reasons against a comparison; NULL: none.
 */
struct compare_remarks {
	const char *stages, *notes, *against;
};
struct compare_remarks compare_gate(const struct compare_stage *stages, size_t count);

#endif
