/*
 * A made-up tree of files that replaces /proc and /sys.
 */
#ifndef HP_TEST_UNIT_TREE_H
#define HP_TEST_UNIT_TREE_H

#include "check.h"

#include <sys/stat.h>

static char root[256];

/* It goes with the folder of the test. */
static inline void make_tree(void)
{
	snprintf(root, sizeof(root), "%.240s/tree-XXXXXX", check_folder());
	CHECK(mkdtemp(root) != NULL);
}

/* Writes a file below the root, with the folders that it needs. */
static inline void put(const char *path, const char *text)
{
	char full[512];

	snprintf(full, sizeof(full), "%s%s", root, path);
	for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		mkdir(full, 0777);
		*at = '/';
	}
	check_write(full, text);
}

#endif
