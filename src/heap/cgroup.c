/*
 * cgroup.c - finds the groups in /proc/self/cgroup, and their limits at the usual mount points.
 *
 * Usage includes the page cache, which is most of it in a program that reads files.  The inactive
 * list of files is subtracted, as in the "working set" of container managers.
 */
#include "heap/cgroup.h"
#include "base/parse.h"
#include "base/procfile.h"

#include <string.h>

/* The names of one version. */
struct version {
	const char *mount;
	const char *limits[2]; /* the hard limit, and one that slows the group down; or NULL */
	const char *usage;
	const char *reclaimable; /* in memory.stat; includes inner groups */
};

static const struct version v1 = {
	.mount = "/sys/fs/cgroup/memory",
	.limits = { "/memory.limit_in_bytes", NULL },
	.usage = "/memory.usage_in_bytes",
	.reclaimable = "total_inactive_file",
};

static const struct version v2 = {
	.mount = "/sys/fs/cgroup",
	.limits = { "/memory.max", "/memory.high" },
	.usage = "/memory.current",
	.reclaimable = "inactive_file",
};

/* True if `word` is in the comma-separated list of `length` bytes. */
static bool lists(const char *list, size_t length, const char *word)
{
	size_t wanted = strlen(word);

	for (const char *at = list, *end = list + length; at < end;) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t room = (size_t)((comma != NULL ? comma : end) - at);

		if (room == wanted && memcmp(at, word, wanted) == 0)
			return true;
		at += room + 1;
	}
	return false;
}

/* Reads one line of /proc/self/cgroup, "id:controllers:/group"; v2 has no controllers. */
static void look_at_line(char *line, const char *controller, struct cgroup *at, cgroup_look_fn look,
			 void *to)
{
	char *controllers = strchr(line, ':');
	char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

	if (group == NULL)
		return;

	size_t named = (size_t)(group - ++controllers);
	group++;
	if (named != 0 && !lists(controllers, named, controller))
		return;
	if (strcmp(group, "/") == 0)
		*group = '\0';
	at->group = group;
	at->is_v2 = named == 0;
	at->is_own = true;
	for (char *slash;; *slash = '\0') {
		look(at, to);
		at->is_own = false;
		slash = strrchr(group, '/');
		if (slash == NULL)
			return;
	}
}

void cgroup_each(const char *root, const char *controller, cgroup_look_fn look, void *to)
{
	char text[4096];
	struct cgroup at = { .root = root };

	if (!hp_procfile_read(text, sizeof(text),
			      (const char *const[]){ root, "/proc/self/cgroup", NULL }))
		return;
	for (char *line = text, *next; *line != '\0'; line = next) {
		size_t length = strcspn(line, "\n");

		next = line + length + (line[length] == '\n');
		line[length] = '\0';
		look_at_line(line, controller, &at, look, to);
	}
}

/* Returns the first number of a file of the group; UINT64_MAX: there is none. */
static uint64_t value(const struct cgroup *at, const struct version *version, const char *file)
{
	char text[32];

	if (!hp_procfile_read(
		    text, sizeof(text),
		    (const char *const[]){ at->root, version->mount, at->group, file, NULL }))
		return UINT64_MAX;
	return hp_procfile_number(text);
}

static uint64_t limit_of(const struct cgroup *at, const struct version *version)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 2 && version->limits[i] != NULL; i++) {
		uint64_t limit = value(at, version, version->limits[i]);

		/* v1 writes "none" as the largest multiple of a page. */
		if (limit < (uint64_t)1 << 62 && limit < least)
			least = limit;
	}
	return least;
}

static uint64_t used_of(const struct cgroup *at, const struct version *version)
{
	char text[4096];
	uint64_t used = value(at, version, version->usage), free = 0;
	const char *field;

	if (used == UINT64_MAX)
		return 0;
	if (hp_procfile_read(text, sizeof(text),
			     (const char *const[]){ at->root, version->mount, at->group,
						    "/memory.stat", NULL }) &&
	    (field = hp_procfile_field(text, version->reclaimable)) != NULL)
		free = hp_procfile_number(field);
	return free < used ? used - free : 0;
}

/* If v1 is in use, v2 is elsewhere: the "hybrid" mount of systemd. */
static const char *const pressure_mounts[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" };

static unsigned stall_of(const struct cgroup *at)
{
	unsigned stall = 0;

	for (size_t i = 0; i < HP_LEN(pressure_mounts) && stall == 0; i++)
		stall = hp_procfile_stall((const char *const[]){
			at->root, pressure_mounts[i], at->group, "/memory.pressure", NULL });
	return stall;
}

static void look_at_memory(const struct cgroup *at, void *to)
{
	struct cgroup_memory *ret = to;
	const struct version *version = at->is_v2 ? &v2 : &v1;
	uint64_t limit = limit_of(at, version);

	if (at->is_v2 && at->is_own)
		ret->stall = stall_of(at);
	if (limit == UINT64_MAX)
		return;

	uint64_t used = used_of(at, version), left = used < limit ? limit - used : 0;
	if (left < ret->left) {
		ret->left = left;
		ret->limit = limit;
	}
}

void cgroup_look(const char *root, struct cgroup_memory *ret)
{
	*ret = (struct cgroup_memory){ .limit = UINT64_MAX, .left = UINT64_MAX };
	cgroup_each(root, "memory", look_at_memory, ret);
}

/* Keeps all files, also those that are read only if there is a limit: it may be set later. */
static void keep(const struct cgroup *at, void *unused)
{
	const struct version *version = at->is_v2 ? &v2 : &v1;
	const char *const files[] = { version->limits[0], version->usage, "/memory.stat",
				      version->limits[1] };

	(void)unused;
	for (size_t i = 0; i < HP_LEN(files) && files[i] != NULL; i++)
		hp_procfile_keep((const char *const[]){ at->root, version->mount, at->group,
							files[i], NULL });
	for (size_t i = 0; i < HP_LEN(pressure_mounts) && at->is_v2 && at->is_own; i++)
		hp_procfile_keep((const char *const[]){ at->root, pressure_mounts[i], at->group,
							"/memory.pressure", NULL });
}

void cgroup_keep(const char *root)
{
	hp_procfile_keep((const char *const[]){ root, "/proc/self/cgroup", NULL });
	cgroup_each(root, "memory", keep, NULL);
}
