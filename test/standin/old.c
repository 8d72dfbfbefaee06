/*
 * old.c - turns the driver in old/ into one of CUDA 11.5: its version script hides newer functions,
 * and this file hides those that dlsym() would find.
 */
#include "engine.h"

__attribute__((constructor)) static void age(void)
{
	engine.version = 11050;
}
