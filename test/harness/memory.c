/*
 * memory.c - reads /proc/self, without stdio.
 */
#include "memory.h"
#include "check.h"
#include "sizes.h"

/* Returns the first or second number of the file. */
static size_t pages(int field)
{
	char text[128];

	check_read("/proc/self/statm", text, sizeof(text));
	if (text[0] == '\0')
		abort();
	return strtoul(field == 0 ? text : strchr(text, ' '), NULL, 10);
}

size_t memory_mapped(void)
{
	return pages(0) * PAGE;
}

size_t memory_resident(void)
{
	return pages(1) * PAGE;
}

size_t memory_status_kib(const char *name)
{
	char text[4096];
	const char *at = strstr(check_read("/proc/self/status", text, sizeof(text)), name);

	if (at == NULL)
		abort();
	return strtoul(at + strcspn(at, "0123456789"), NULL, 10);
}
