/*
 * The options, read from the environment once and then constant.
 */
#ifndef HP_BASE_OPTIONS_H
#define HP_BASE_OPTIONS_H

#include "base/parse.h"

/* The words of options.def, in its order. */
enum hp_profile { HP_PROFILE_OFF, HP_PROFILE_SUMMARY, HP_PROFILE_TRACE };
enum hp_sample { HP_SAMPLE_AUTO, HP_SAMPLE_OFF, HP_SAMPLE_SIGNAL };
enum hp_cupti { HP_CUPTI_AUTO, HP_CUPTI_FORCE, HP_CUPTI_OFF };

struct hp_options {
#define OPT(type, field, variable, dflt, accepts, help) hp_##type##_t field;
#include "base/options.def"
};

/* One row of the table, for output. */
struct hp_option_row {
	const char *variable, *type, *dflt, *accepts, *help;
	const char *value; /* the present value, as the user has written it */
};

/* Constant once hp_options_load() has returned; read it without a lock. */
extern const struct hp_options *const hp_options;

/*
 * Reads HOTPIN and HOTPIN_* from `env` (NULL: defaults only).  A bad value causes a warning and the
 * default is used.  An unknown name causes a warning.  Called once, by the constructor or by a
 * tool's main(), before there is a second thread.
 */
void hp_options_load(char *const *env);

/* Calls `show` for each option, in the order of options.def.  `row` lives until the next load. */
void hp_options_each(void (*show)(const struct hp_option_row *row, void *arg), void *arg);

#endif
