/*
 * old.c - makes the driver in old/ one of CUDA 11.5; its version script hides what is newer and
 * found by dlsym().
 */
#include "engine.h"

__attribute__((constructor)) static void age(void)
{
	engine.version = 11050;
}
