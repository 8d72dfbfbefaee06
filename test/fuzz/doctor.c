/*
 * doctor.c - lets libFuzzer inspect programs and scripts as `hotpin doctor` does.
 */
#include "cmd/doctor.h"
#include "file.h"

#include <stdarg.h>

/* Formats the finding, which quotes the file. */
void doctor_find(enum verdict verdict, const char *what, const char *format, ...)
{
	char text[8192];
	va_list args;

	(void)verdict;
	(void)what;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
}

void doctor_uses_no_device(void)
{
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	doctor_program(file_put(data, size));
	return 0;
}
