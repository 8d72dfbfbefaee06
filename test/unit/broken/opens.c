/*
 * opens.c - opens a library, in the way that it was compiled for.
 */
#include <dlfcn.h>
#include <stddef.h>

#ifndef FLAGS
#define FLAGS RTLD_NOW
#endif

int main(int argc, char **argv)
{
	(void)argc;
#ifdef NAMESPACE
	return dlmopen(LM_ID_NEWLM, argv[1], FLAGS) == NULL;
#else
	return dlopen(argv[1], FLAGS) == NULL;
#endif
}
