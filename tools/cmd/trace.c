/*
 * trace.c - `hotpin trace`: writes the timelines of profiles.
 */
#include "cmd/commands.h"
#include "cmd/flags.h"
#include "names/names_find.h"
#include "profile/texts.h"
#include "show/trace_write.h"
#include "system/messages.h"

#include <getopt.h>
#include <stdlib.h>

static int write_timelines(struct output *output, struct profile *profiles, size_t count, void *arg)
{
	(void)arg;
	for (size_t i = 0; i < count; i++)
		if (!profiles[i].events.known) {
			hotpin_say("%s has no timeline; run the program with --profile=trace",
				   text_name(profiles[i].path, 200));
			return EXIT_FAILURE;
		}
	names_resolve(profiles, count);
	trace_write(output->to, profiles, count);
	return 0;
}

int hotpin_trace(int argc, char **argv)
{
	const char *path = NULL;
	const struct flag flags[] = { { "out", 'o', &path }, { NULL } };
	int status = flags_read(argc, argv, flags, FLAGS_PROFILES);

	return status >= 0 ? status
			   : flags_write(path, argv + optind, (size_t)(argc - optind),
					 write_timelines, NULL);
}
