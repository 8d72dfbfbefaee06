/*
 * flags.c - passes a table of options to getopt_long(), with --help for every command.
 */
#include "cmd/flags.h"
#include "cmd/commands.h"
#include "profile/profile_open.h"
#include "system/messages.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 256 /* above all letters: the value of the first option */

static bool has_value(const struct flag *flag)
{
	return flag->text != NULL || flag->folders != NULL;
}

static void take(const struct flag *flag)
{
	if (flag->given != NULL)
		*flag->given = true;
	if (flag->text != NULL && optarg != NULL)
		*flag->text = optarg;
	if (flag->folders != NULL)
		source_add_folder(flag->folders, optarg);
}

/* getopt() would print the word as it is, and a file can have such a name. */
static int refuse(char **argv, bool lacks_value)
{
	const char *word = argv[optind - 1];
	bool is_long = optopt == 0 || strncmp(word, "--", 2) == 0;
	const char *why = lacks_value              ? "its value is missing"
			  : is_long && optopt != 0 ? "this option takes no value"
						   : "there is no such option";

	return is_long ? hotpin_misused(argv[0], "%s: %s", word, why)
		       : hotpin_misused(argv[0], "-%c: %s", optopt, why);
}

int flags_read(int argc, char **argv, const struct flag *flags, enum flags_operands operands)
{
	struct option longs[FLAGS_MOST + 2] = { { "help", no_argument, NULL, 'h' } };
	char shorts[2 * FLAGS_MOST + 4];
	int used = snprintf(shorts, sizeof(shorts), "%s:h", operands == FLAGS_PROGRAM ? "+" : "");
	int option;

	for (int i = 0; flags[i].name != NULL; i++) {
		longs[i + 1] = (struct option){
			.name = flags[i].name,
			.has_arg = !has_value(&flags[i])    ? no_argument
				   : flags[i].given == NULL ? required_argument
							    : optional_argument,
			.val = FIRST + i,
		};
		if (flags[i].letter != 0)
			used += snprintf(shorts + used, sizeof(shorts) - (size_t)used, "%c%s",
					 flags[i].letter, has_value(&flags[i]) ? ":" : "");
	}
	while ((option = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct flag *flag = flags;

		if (option == 'h')
			return hotpin_help(argv[0]);
		if (option == '?' || option == ':')
			return refuse(argv, option == ':');
		while (option != FIRST + (flag - flags) && option != flag->letter)
			flag++;
		take(flag);
	}
	if (operands != FLAGS_PROFILES || optind < argc)
		return -1;
	return hotpin_misused(argv[0], FLAGS_NO_PROFILE);
}

int flags_write(const char *path, char **files, size_t count,
		int (*write)(struct output *output, struct profile *profiles, size_t count,
			     void *arg),
		void *arg)
{
	struct output output;
	int status = EXIT_FAILURE;

	/* Opening the output first avoids a long read in vain if it cannot be written. */
	if (output_open(&output, path, files, count, false) < 0)
		return EXIT_FAILURE;
	struct profile *profiles = profile_open_all(files, count);
	if (profiles != NULL)
		status = write(&output, profiles, count, arg);
	profile_close_all(profiles, count);
	if (status == 0)
		return output_close(&output) < 0 ? EXIT_FAILURE : 0;
	output_drop(&output);
	return status;
}
