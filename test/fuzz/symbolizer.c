/*
 * symbolizer.c - lets libFuzzer read programs and debug files as `hotpin report` does.
 *
 * The input is an ELF file, and then the answer of addr2line for addresses in it.  The file may
 * name itself as its debug file.
 */
#include "debug_file.h"
#include "elf_file.h"
#include "file.h"
#include "hotpin.h"
#include "names_lines.h"
#include "symbols.h"

#include <string.h>

void hotpin_say(const char *format, ...)
{
	(void)format;
}

static void look_up(const struct named *file, const uint8_t *data, size_t size)
{
	uint64_t left = UINT64_MAX;
	struct symbols *symbols = symbols_read(file, &left);

	for (size_t at = 0; symbols != NULL && at + 8 <= size && at < 800; at += 8) {
		uint64_t address;

		memcpy(&address, data + at, sizeof(address));
		const char *name = symbols_find(symbols, address);
		if (name != NULL && strlen(name) > size)
			abort();
	}
	symbols_close(symbols);
}

static void read_answer(const uint8_t *data, size_t size)
{
	struct profile profile = { .path = "" };
	struct profile_frame frames[4] = { { .function = NULL }, { .function = "main" } };
	struct profile_frame *const list[] = { &frames[0], &frames[1], &frames[2], &frames[3] };
	FILE *answers = fmemopen((void *)data, size, "r");

	if (answers == NULL)
		return;
	names_lines_read(&profile, answers, list, 4);
	fclose(answers);
	profile_close(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = file_put(data, size);
	char id[ELF_BUILD_ID_ROOM];
	struct named file, debug;
	struct elf elf;

	if (named_open(path, &file) < 0)
		abort();
	if (elf_open(file.fd, &elf))
		elf_build_id(&elf, id);
	else
		strcpy(id, "00112233");
	elf_close(&elf);
	symbols_match(&file, id, 0);
	symbols_match(&file, NULL, 1);
	look_up(&file, data, size);
	if (debug_file_find(&file, &debug))
		close(debug.fd);
	close(file.fd);
	read_answer(data, size);
	return 0;
}
