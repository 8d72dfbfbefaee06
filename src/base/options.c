/*
 * options.c - reads the environment by the table options.def.
 *
 * This runs before main() of foreign programs, so it neither allocates nor uses stdio streams, and
 * a mistyped value never stops the program.
 */
#include "base/options.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>

static struct hp_options options;
const struct hp_options *const hp_options = &options;

static struct row {
	struct hp_option_row shown;
	int (*parse)(const char *text, const char *accepts, void *ret);
	void *field;
} table[] = {
#define OPT(type, field, variable, dflt, accepts, help) \
	{ { variable, #type, dflt, accepts, help, dflt }, hp_parse_##type, &options.field },
#include "base/options.def"
};

/* The values that the user has written. */
static char written[HP_LEN(table)][HP_TEXT_MAX];

/* Returns the text behind "NAME=" in an entry of the environment, or NULL for another name. */
static const char *value_of(const char *entry, const char *name)
{
	size_t length = strlen(name);

	return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1
									 : NULL;
}

static void load_one(const char *entry)
{
	for (struct row *row = table; row < table + HP_LEN(table); row++) {
		const struct hp_option_row *about = &row->shown;
		const char *text = value_of(entry, about->variable);

		if (text == NULL)
			continue;
		if (row->parse(text, about->accepts, row->field) == 0) {
			row->shown.value = written[row - table];
			snprintf(written[row - table], HP_TEXT_MAX, "%s", text);
		} else {
			hp_warn("%s: cannot read '%.80s' (expected %s), keeping '%s'",
				about->variable, text, about->accepts, about->dflt);
		}
		return;
	}
	hp_warn("%.*s is not an option and does nothing; `hotpin env` lists them",
		(int)strcspn(entry, "="), entry);
}

void hp_options_load(char *const *env)
{
	for (struct row *row = table; row < table + HP_LEN(table); row++) {
		row->parse(row->shown.dflt, row->shown.accepts, row->field);
		row->shown.value = row->shown.dflt;
	}
	for (; env != NULL && *env != NULL; env++) {
		/* Not HOTPINS=, which is not an option of hotpin. */
		if (strncmp(*env, "HOTPIN=", 7) == 0 || strncmp(*env, "HOTPIN_", 7) == 0)
			load_one(*env);
	}
}

void hp_options_each(void (*show)(const struct hp_option_row *row, void *arg), void *arg)
{
	for (const struct row *row = table; row < table + HP_LEN(table); row++)
		show(&row->shown, arg);
}
