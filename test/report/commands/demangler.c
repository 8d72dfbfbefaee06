/*
 * demangler.c - stands in for libstdc++.so.6: a demangler that ends its process at one name.
 */
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("default"))) char *__cxa_demangle(const char *name, char *buffer,
							    size_t *length, int *status);

char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status)
{
	(void)buffer;
	(void)length;
	if (strcmp(name, "_Z3endv") == 0)
		abort();
	*status = 0;
	return strdup("readable");
}
