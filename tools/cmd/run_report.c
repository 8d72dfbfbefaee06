/*
 * run_report.c - finds the profiles of a run by the pattern of their names.
 *
 * A child process reads them, since a file that a stranger's program has spoilt must not change the
 * exit status.
 */
#include "cmd/run_report.h"
#include "system/messages.h"
#include "show/layout.h"
#include "cmd/commands.h"
#include "launch/await.h"
#include "profile/profile_open.h"
#include "profile/texts.h"
#include "base/parse.h"
#include "base/rank.h"

#include <dirent.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The folder that is removed with the profiles in it; "": they are the user's.  HOTPIN_OUT has room
 * for it even if each character is a % and doubled.
 */
static char folder[HP_TEXT_MAX / 2 - sizeof("/%p.json")];

static bool is_of_this_run(const char *path, uint64_t began_ns)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) &&
	       (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec >=
		       began_ns;
}

/* Opens the profiles of this run, and of this rank if it is one.  Returns their number. */
static size_t open_them(char **paths, size_t count, const char *rank, uint64_t began_ns,
			struct profile *ret)
{
	size_t opened = 0;

	for (size_t i = 0; i < count; i++) {
		struct profile *profile = &ret[opened];

		if (!is_of_this_run(paths[i], began_ns) || profile_open(paths[i], profile) < 0)
			continue;
		if (rank[0] == '\0' ||
		    (profile->process.rank != NULL && strcmp(profile->process.rank, rank) == 0))
			opened++;
		else
			profile_close(profile);
	}
	return opened;
}

/* Removes what shells and launchers wrote that used no device, if others did. */
static size_t drop_launchers(struct profile *profiles, size_t count)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (!profile_used_no_device(&profiles[i]))
			profiles[used++] = profiles[i];
	return used > 0 ? used : count;
}

/* Prints the wall time of a profile and its two largest states in a line. */
static void say_line(const struct profile *profile)
{
	unsigned tenths[TEXT_STATES];
	const char *states = "", *rank = profile->process.rank;

	text_split_tenths(&profile->split, tenths);
	for (int shown = 0; shown < 2; shown++) {
		int most = 0;

		for (int part = 1; part < TEXT_STATES; part++)
			most = tenths[part] > tenths[most] ? part : most;
		if (tenths[most] > 0)
			states = text_made("%s, %s %u.%u %%", states, text_states[most].title,
					   tenths[most] / 10, tenths[most] % 10);
		tenths[most] = 0;
	}
	layout_say(4, "%s: %s %s%s",
		   rank != NULL ? text_made("rank %s", text_name(rank, 16))
				: text_made("pid %lld", (long long)profile->process.pid),
		   text_name(profile->process.program, 32), text_time(profile->wall_ns), states);
}

static void print(const char *out, uint64_t began_ns, const char *command)
{
	char rank[HP_RANK_ROOM], pattern[PATH_MAX];
	unsigned long ranks = hp_rank_find(rank);
	const struct hp_path_facts facts = { .pid = HP_PATH_ANY,
					     .rank = rank[0] != '\0' ? rank : NULL };
	glob_t found = { 0 };

	layout_start();
	if (hp_path_expand(out, &facts, pattern, sizeof(pattern)) < 0 ||
	    glob(pattern, 0, NULL, &found) != 0)
		found.gl_pathc = 0;
	struct profile *profiles = calloc(found.gl_pathc + 1, sizeof(*profiles));
	if (profiles == NULL)
		return;
	size_t count = open_them(found.gl_pathv, found.gl_pathc, rank, began_ns, profiles);
	count = drop_launchers(profiles, count);
	if (count == 0) {
		hotpin_say("no profile of %s is here: it ended by a signal before it used a GPU, "
			   "hotpin could not act in it, or it ran elsewhere; see hotpin doctor %s",
			   command, command);
	} else if (count > 1 || (rank[0] != '\0' && ranks != 1)) {
		for (size_t i = 0; i < count; i++)
			say_line(&profiles[i]);
	} else {
		bool used = !profile_used_no_device(&profiles[0]);

		report_first(&profiles[0]);
		putchar('\n');
		if (!used)
			layout_say(
				4,
				"hotpin saw no use of CUDA. If that is wrong, run: hotpin doctor "
				"PROGRAM");
		if (folder[0] == '\0')
			layout_say(4, "More: hotpin report %s", text_name(profiles[0].path, 200));
		else if (used)
			layout_say(4, "To keep the profile: hotpin run -o FILE PROGRAM");
	}
}

/* Removes the folder of the profiles and all files in it. */
static void remove_folder(void)
{
	struct dirent *entry;
	DIR *opened = opendir(folder);

	while (opened != NULL && (entry = readdir(opened)) != NULL)
		unlinkat(dirfd(opened), entry->d_name, 0);
	if (opened != NULL)
		closedir(opened);
	rmdir(folder);
}

const char *run_report_folder(void)
{
	const char *temporary = getenv("TMPDIR");

	if (temporary == NULL || temporary[0] != '/')
		temporary = "/tmp";
	if ((size_t)snprintf(folder, sizeof(folder), "%s/hotpin-XXXXXX", temporary) <
		    sizeof(folder) &&
	    mkdtemp(folder) != NULL)
		return folder;
	folder[0] = '\0';
	return NULL;
}

void run_report(const char *out, uint64_t began_ns, const char *command)
{
	struct await await;

	fflush(NULL);
	pid_t child = command != NULL ? await_start(&await) : -1;

	if (child == 0) {
		print(out, began_ns, command);
		fflush(stdout);
		_exit(0);
	}
	/* A signal that ends the report leaves no folder behind. */
	if (child > 0)
		await_end(&await);
	if (folder[0] != '\0')
		remove_folder();
}
