/* secure.c - prints what a privileged program can observe of the library. */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

int main(void)
{
	char line[512];
	char *block = malloc((size_t)4 << 20);
	int is_there = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
		is_there |= strstr(line, "libhotpin.so") != NULL;
	printf("secure %d loaded %d offset %d\n", (int)getauxval(AT_SECURE), is_there,
	       (int)((uintptr_t)block & 4095));
	free(block);
	return maps == NULL;
}
