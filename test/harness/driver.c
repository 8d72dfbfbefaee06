/*
 * driver.c - finds the functions of the list as a runtime does.
 */
#include "driver.h"

const char *driver_ask(__typeof__(cuGetProcAddress_v2) *get, struct driver cu[2])
{
	const char *lacks = NULL;

#define ASK(symbol, name, version)                                                           \
	get(name, (void **)&cu[0].symbol, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, NULL); \
	get(name, (void **)&cu[1].symbol, (version) < 7000 ? 7000 : (version),               \
	    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL);                            \
	if (cu[0].symbol == NULL || cu[1].symbol == NULL)                                    \
		lacks = name;
	DRIVER_FUNCTIONS(ASK)
#undef ASK
	return lacks;
}
