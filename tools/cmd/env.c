/*
 * env.c - `hotpin env`: lists every option of options.def with its value in this environment.
 *
 * doc/options.md is made from the Markdown form, which shows defaults instead of the values of this
 * environment.  libhotpin(7) is made from the JSON form.
 */
#include "cmd/commands.h"
#include "system/messages.h"
#include "show/layout.h"
#include "profile/texts.h"
#include "base/options.h"
#include "base/units.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Environment variables may hold bytes that are not UTF-8; each is written as U+FFFD. */
static void json_string(const char *text)
{
	size_t length = strlen(text);

	putchar('"');
	for (size_t at = 0; at < length;) {
		size_t bytes = units_printable(text + at, length - at);
		unsigned char byte = (unsigned char)text[at];

		if (bytes == 1 && (byte == '"' || byte == '\\'))
			printf("\\%c", byte);
		else if (bytes > 0)
			fwrite(text + at, 1, bytes, stdout);
		else if (byte < 0x20 || byte == 0x7f)
			printf("\\u%04x", byte);
		else
			fputs("\\ufffd", stdout);
		at += bytes > 0 ? bytes : 1;
	}
	putchar('"');
}

static void json_member(const char *name, const char *text, const char *after)
{
	printf("\"%s\": ", name);
	json_string(text);
	fputs(after, stdout);
}

static void show_json(const struct hp_option_row *row, void *arg)
{
	bool *first = arg;

	fputs(*first ? "\n    {" : ",\n    {", stdout);
	*first = false;
	json_member("name", row->variable, ", ");
	json_member("type", row->type, ", ");
	json_member("value", row->value, ", ");
	json_member("default", row->dflt, ", ");
	json_member("accepts", row->accepts, ",\n     ");
	json_member("help", row->help, "}");
}

/* A | would end the cell, even inside backquotes. */
static void markdown_cell(const char *text)
{
	for (; *text != '\0'; text++)
		printf(*text == '|' ? "\\|" : "%c", *text);
}

static void show_markdown(const struct hp_option_row *row, void *arg)
{
	(void)arg;
	printf("| `%s` | ", row->variable);
	if (row->dflt[0] != '\0')
		printf("`%s`", row->dflt);
	fputs(" | ", stdout);
	markdown_cell(row->accepts);
	fputs(" | ", stdout);
	markdown_cell(row->help);
	puts(" |");
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
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "markdown", no_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int form = 't', option;

	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("env");
		if (option != '?' && form != 't')
			hotpin_say("--json and --markdown: choose one");
		if (option == '?' || form != 't')
			return hotpin_misused("env");
		form = option;
	}
	if (optind != argc) {
		hotpin_say("%s is not an option of env", argv[optind]);
		return hotpin_misused("env");
	}

	bool first = true;
	layout_start(NULL);
	switch (form) {
	case 'j':
		hp_options_load(environ);
		fputs("{\n  \"schema\": \"hotpin.options\",\n  \"schema_version\": \"1.0\",\n",
		      stdout);
		fputs("  \"options\": [", stdout);
		hp_options_each(show_json, &first);
		puts("\n  ]\n}");
		break;
	case 'd':
		hp_options_load(NULL);
		puts("| option | default | accepts | what it does |\n|---|---|---|---|");
		hp_options_each(show_markdown, NULL);
		break;
	default:
		hp_options_load(environ);
		hp_options_each(show_lines, NULL);
	}
	return 0;
}
