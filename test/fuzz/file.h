/*
 * A file with the input of a fuzz target, in a folder of its own.
 */
#ifndef HP_TEST_FUZZ_FILE_H
#define HP_TEST_FUZZ_FILE_H

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char file_folder[PATH_MAX / 2], file_path[PATH_MAX];

static inline void file_remove(void)
{
	unlink(file_path);
	rmdir(file_folder);
}

/* Writes the input to an executable file, and returns its path. */
static inline const char *file_put(const uint8_t *data, size_t size)
{
	static int file = -1;
	const char *top = getenv("TMPDIR");

	if (file < 0) {
		snprintf(file_folder, sizeof(file_folder), "%s/fuzz-XXXXXX",
			 top != NULL ? top : "/tmp");
		if (mkdtemp(file_folder) == NULL)
			exit(1);
		snprintf(file_path, sizeof(file_path), "%s/program", file_folder);
		file = open(file_path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);
		atexit(file_remove);
	}
	if (ftruncate(file, 0) < 0 || pwrite(file, data, size, 0) != (ssize_t)size)
		exit(1);
	return file_path;
}

#endif
