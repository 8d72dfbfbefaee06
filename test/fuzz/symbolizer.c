/*
 * symbolizer.c - lets libFuzzer read programs and debug files as `hotpin report` does.
 */
#include "file.h"
#include "system/messages.h"
#include "names/symbolize.h"

#include <string.h>
#include <sys/resource.h>

void hotpin_say(const char *format, ...)
{
	(void)format;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint64_t addresses[] = { 0x0, 0x1010, 0x1020, 0x1100, 0x1131, 0x1139, 0x4000 };
	struct symbolize_file file = { .path = file_put(data, size),
				       .addresses = addresses,
				       .count = sizeof(addresses) / sizeof(addresses[0]) };
	struct rlimit files;
	FILE *to = fopen("/dev/null", "w");

	symbolize_start();
	symbolize_file(&file, to);
	/* As its own debug file. */
	file.build_id = "00112233";
	file.debug = file.path;
	symbolize_file(&file, to);
	fclose(to);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return 0;
}
