/*
 * cudart_names.c - the runtime's names that are not modelled.
 *
 * Must not include the runtime's headers: names are defined here without their signatures, weakly,
 * so that the linker takes the real ones where there are some.
 */
int runtime_unmodelled(void);

#pragma GCC visibility push(default)
#define NAME(name)                           \
	int name(void);                      \
	__attribute__((weak)) int name(void) \
	{                                    \
		return runtime_unmodelled(); \
	}
#include "cudart_names.def"
#pragma GCC visibility pop
