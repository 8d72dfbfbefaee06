/*
 * env.c - `hotpin env`: lists every option of options.def with its value in this environment.
 *
 * doc/options.md is made from the JSON form.
 */
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "system/messages.h"
#include "show/layout.h"
#include "profile/texts.h"
#include "base/options.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void add_json(const struct hp_option_row *row, void *list)
{
	json_array_append_new(
		list, json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "name", text_json(row->variable),
				"type", text_json(row->type), "value", text_json(row->value),
				"default", text_json(row->dflt), "accepts", text_json(row->accepts),
				"help", text_json(row->help)));
}

static void show_json_form(void)
{
	json_t *list = json_array();

	hp_options_each(add_json, list);
	json_t *form = json_pack("{s:s,s:s,s:o}", "schema", "hotpin.options", "schema_version",
				 "1.0", "options", list);
	json_dumpf(form, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	putchar('\n');
	json_decref(form);
}

static void show_lines(const struct hp_option_row *row, void *arg)
{
	bool is_default = strcmp(row->value, row->dflt) == 0;

	(void)arg;
	printf("%s=%s%s\n", row->variable, text_name(row->value, HP_TEXT_MAX),
	       is_default ? "" : "  (set here)");
	layout_say(4, "    %s", row->help);
	layout_say(4, "    %s%s%s", row->accepts, row->dflt[0] != '\0' ? "; default " : "",
		   row->dflt);
}

int hotpin_env(int argc, char **argv)
{
	bool json = false;
	const struct flag flags[] = { { "json", .given = &json }, { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_FILES);

	if (status >= 0)
		return status;
	if (optind != argc)
		return hotpin_misused("env", "%s is not an option of env", argv[optind]);
	layout_start();
	hp_options_load(environ);
	if (json)
		show_json_form();
	else
		hp_options_each(show_lines, NULL);
	return 0;
}
