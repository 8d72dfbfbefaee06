/*
 * source.c - finds and reads source files.
 *
 * A stranger's profile may name any file, also by a link.  So the rules apply to the file that was
 * opened, and to its path without links.
 */
#include "names/source.h"
#include "profile/profile_open.h"
#include "profile/texts.h"
#include "system/messages.h"
#include "system/untrusted_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MOST ((size_t)16 << 20)

void source_add_folder(struct source_where *where, const char *folder)
{
	struct stat status;
	int error = stat(folder, &status) < 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;

	const char **folders =
		realloc(where->folders, (where->folder_count + 1) * sizeof(*folders));
	if (folders == NULL)
		return;
	where->folders = folders;
	where->folders[where->folder_count++] = folder;
	if (error != 0)
		hotpin_say("--source %s: cannot be searched (%s); name an existing folder",
			   text_name(folder, 200), strerror(error));
}

/*
 * Returns why the file is not shown as one below `root`; NULL: it may be.  `error`: of opening it.
 * `asked`: by --source.  Its path is judged first: whether another place has such a file is not
 * told, and the output is the same on every machine.
 */
static const char *refuse(const struct untrusted_file *file, int error, const char *root,
			  bool asked)
{
	const struct stat *status = &file->status;
	size_t length = strcmp(root, "/") == 0 ? 0 : strlen(root);
	bool own = status->st_uid == geteuid();

	if (strncmp(file->path, root, length) != 0 || file->path[length] != '/')
		return asked ? "it is a link that leaves its folder"
			     : "it is not below the current folder";
	if (error < 0)
		return strerror(-error);
	if (strstr(file->path + length, "/.") != NULL)
		return "it is hidden";
	if (!asked && !own && status->st_uid != 0)
		return "it belongs to another user";
	if (untrusted_file_is_readable(file) && (status->st_mode & S_IROTH) != 0)
		return NULL;
	/* A private file with a second name may be a secret that somebody has linked. */
	return asked && own && status->st_nlink == 1 ? NULL : "not everybody may read it";
}

static bool is_proven(const struct source_claim *claim, const struct stat *status)
{
	return claim->is_verified ||
	       (claim->bytes == status->st_size &&
		claim->modified_ns ==
			(int64_t)status->st_mtim.tv_sec * 1000000000 + status->st_mtim.tv_nsec);
}

/*
 * Reads the file at `path` if it may be shown as one below `folder`.  The claim is NULL if the user
 * asks for the folder.
 */
static const char *read_one(const char *path, const char *folder, const struct source_claim *claim,
			    struct source *ret, bool *ret_found)
{
	char root[PATH_MAX];
	struct untrusted_file file;
	int error = untrusted_file_open(path, &file);
	const char *why = realpath(folder, root) == NULL
				  ? strerror(errno)
				  : refuse(&file, error, root, claim == NULL);

	*ret_found = error == 0;
	if (error < 0)
		return why;
	if (why == NULL && claim != NULL && !is_proven(claim, &file.status))
		why = claim->modified_ns < 0 ? "it may differ from the file that was compiled"
					     : "it was changed since the run";
	if (why == NULL && file.status.st_size > (off_t)BYTES_MOST)
		why = strerror(EFBIG);
	else if (why == NULL && (ret->text = profile_read_all(file.fd, (size_t)file.status.st_size,
							      &ret->bytes, &error)) == NULL)
		why = strerror(error);
	close(file.fd);
	snprintf(ret->path, sizeof(ret->path), "%s", path);
	ret->modified = file.status.st_mtime;
	return why;
}

/* Tries longer ends of the path first.  *ret_why: NULL, or why the first one is not shown. */
static bool read_below(const char *compiled, const struct source_where *where, struct source *ret,
		       const char **ret_why)
{
	char path[4096];
	bool found;

	*ret_why = NULL;
	for (const char *end = compiled; end != NULL; end = strchr(end, '/')) {
		end += strspn(end, "/");
		/* Such a path would leave the folder. */
		if (strncmp(end, "../", 3) == 0)
			continue;
		for (size_t i = 0; i < where->folder_count; i++) {
			int length = snprintf(path, sizeof(path), "%s/%s", where->folders[i], end);

			if (length < 0 || (size_t)length >= sizeof(path))
				continue;
			const char *why = read_one(path, where->folders[i], NULL, ret, &found);
			if (why == NULL)
				return true;
			if (found && *ret_why == NULL)
				*ret_why = why;
		}
	}
	return false;
}

const char *source_open(const struct source_claim *claim, const struct source_where *where,
			struct source *ret)
{
	const char *refused;
	bool found;

	memset(ret, 0, sizeof(*ret));
	if (read_below(claim->compiled, where, ret, &refused))
		return NULL;
	const char *why = read_one(claim->compiled, ".", claim, ret, &found);
	return why != NULL && refused != NULL ? refused : why;
}

void source_close(struct source *source)
{
	free(source->text);
	memset(source, 0, sizeof(*source));
}

bool source_next_line(const struct source *source, size_t *at, const char **ret, size_t *ret_bytes)
{
	if (*at >= source->bytes)
		return false;
	const char *line = source->text + *at;
	const char *end = memchr(line, '\n', source->bytes - *at);

	*ret = line;
	*ret_bytes = end != NULL ? (size_t)(end - line) : source->bytes - *at;
	*at += *ret_bytes + 1;
	return true;
}

const char *paths_normal(const char *path)
{
	bool absolute = path[0] == '/';
	char *normal = text_made("%s", path), *to = normal + absolute, *first = to, *next;

	for (char *part = strtok_r(normal, "/", &next); part != NULL;
	     part = strtok_r(NULL, "/", &next)) {
		size_t length = strlen(part);
		bool up = strcmp(part, "..") == 0;
		char *last = to;

		while (last > first && last[-1] != '/')
			last--;
		if (strcmp(part, ".") == 0 || (up && absolute && to == first))
			continue;
		/* ".." removes the previous part, unless that is ".." too. */
		if (up && to > first && (to - last != 2 || memcmp(last, "..", 2) != 0)) {
			to = last > first ? last - 1 : first;
			continue;
		}
		if (to > first)
			*to++ = '/';
		memmove(to, part, length);
		to += length;
	}
	*to = '\0';
	return normal;
}
