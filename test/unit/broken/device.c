/*
 * opens.c - opens a library, in the way that it was compiled for.
 */
#include <dlfcn.h>
#include <stddef.h>

#ifndef FLAGS
#define FLAGS RTLD_NOW
#endif

#ifdef CUDART
/* What device code stands in, where nvcc has linked its cudart in: that calls dlmopen(), too. */
__attribute__((section(".nv_fatbin"), used)) static const char device_code[16];
#endif

int main(int argc, char **argv)
{
	(void)argc;
#ifdef NAMESPACE
#if NAMESPACE == 2
	if (dlmopen(LM_ID_NEWLM, argv[0], FLAGS) == NULL)
		return 2;
#endif
	return dlmopen(LM_ID_NEWLM, argv[1], FLAGS) == NULL;
#else
	return dlopen(argv[1], FLAGS) == NULL;
#endif
}
