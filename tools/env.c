/*
 * env.c - `hotpin env`: every option of options.def, with the value in force here.
 *
 * The Markdown and man forms are what README.md and hotpin(1) hold, so they show nothing of the
 * environment that they were made in.
 */
#include "hotpin.h"
#include "base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What a bad or overlong environment may hold is not always text: U+FFFD for what is not UTF-8. */
static size_t utf8_length(const unsigned char *at)
{
	size_t length = *at < 0x80                   ? 1
			: *at >= 0xc2 && *at <= 0xdf ? 2
			: *at >= 0xe0 && *at <= 0xef ? 3
			: *at >= 0xf0 && *at <= 0xf4 ? 4
						     : 0;

	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
	    (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))
		return 0;
	return length;
}

static void json_string(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	putchar('"');
	while (*at != '\0') {
		size_t length = utf8_length(at);

		if (length == 0) {
			fputs("\\ufffd", stdout);
			length = 1;
		} else if (*at == '"' || *at == '\\') {
			printf("\\%c", *at);
		} else if (*at < 0x20) {
			printf("\\u%04x", *at);
		} else {
			fwrite(at, 1, length, stdout);
		}
		at += length;
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

/* Text for troff: its escape character, and hyphens that should stay ASCII. */
static void man_text(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\'')
			fputs("\\(aq", stdout);
		else
			putchar(*text);
	}
}

static void show_man(const struct hp_option_row *row, void *arg)
{
	(void)arg;
	fputs(".TP\n.BR ", stdout);
	man_text(row->variable);
	fputs(" \" (", stdout);
	man_text(row->accepts);
	fputs(row->dflt[0] != '\0' ? "; " : ")", stdout);
	if (row->dflt[0] != '\0') {
		man_text(row->dflt);
		putchar(')');
	}
	fputs("\"\n", stdout);
	man_text(row->help);
	putchar('\n');
}

static void show_text(const struct hp_option_row *row, void *arg)
{
	bool is_default = strcmp(row->value, row->dflt) == 0;

	(void)arg;
	printf("%s=%s%s\n", row->variable, row->value, is_default ? "" : "  (set here)");
	printf("    %s\n    %s", row->help, row->accepts);
	if (row->dflt[0] != '\0')
		printf("; default %s", row->dflt);
	putchar('\n');
}

int hotpin_env(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "markdown", no_argument, NULL, 'd' },
		{ "man", no_argument, NULL, 'm' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int form = 't', option;

	while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("env");
		if (option == '?' || form != 't')
			return hotpin_misused("env");
		form = option;
	}
	if (optind != argc)
		return hotpin_misused("env");

	bool first = true;
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
	case 'm':
		hp_options_load(NULL);
		hp_options_each(show_man, NULL);
		break;
	default:
		hp_options_load(environ);
		hp_options_each(show_text, NULL);
	}
	return 0;
}
