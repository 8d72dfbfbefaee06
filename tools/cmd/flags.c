/*
 * flags.c - passes a table of options to getopt_long(), with --help for every command.
 */
#include "cmd/flags.h"
#include "cmd/commands.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#define FIRST 256 /* above all letters: the value of the first option */

int flags_read(int argc, char **argv, const struct flag *flags, bool program)
{
	struct option longs[FLAGS_MOST + 2] = { { "help", no_argument, NULL, 'h' } };
	char shorts[2 * FLAGS_MOST + 3];
	int used = snprintf(shorts, sizeof(shorts), "%sh", program ? "+" : ""), option;

	for (int i = 0; flags[i].name != NULL; i++) {
		longs[i + 1] = (struct option){
			.name = flags[i].name,
			.has_arg = flags[i].text == NULL    ? no_argument
				   : flags[i].given == NULL ? required_argument
							    : optional_argument,
			.val = FIRST + i,
		};
		if (flags[i].letter != 0)
			used += snprintf(shorts + used, sizeof(shorts) - (size_t)used, "%c%s",
					 flags[i].letter, flags[i].text != NULL ? ":" : "");
	}
	while ((option = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct flag *flag = flags;

		if (option == 'h')
			return hotpin_help(argv[0]);
		if (option == '?')
			return hotpin_misused(argv[0]);
		while (option != FIRST + (flag - flags) && option != flag->letter)
			flag++;
		if (flag->given != NULL)
			*flag->given = true;
		if (flag->text != NULL && optarg != NULL)
			*flag->text = optarg;
	}
	return -1;
}
