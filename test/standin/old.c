/*
 * old.c - makes the driver in old/ one of CUDA 11.5; its version script hides cuGetProcAddress_v2.
 */
#include "engine.h"

__attribute__((constructor)) static void age(void)
{
	engine.version = 11050;
}
