/*
 * forward.c - a library that precedes another one and calls the next definition, as every preloaded
 * tool does.  Built twice, as SELF.
 */
#include <dlfcn.h>
#include <string.h>

#define FORWARD(name)                                                             \
	__attribute__((visibility("default"))) void name(char *said);             \
	void name(char *said)                                                     \
	{                                                                         \
		void (*next)(char *) = (void (*)(char *))dlsym(RTLD_NEXT, #name); \
                                                                                  \
		strcat(said, SELF " ");                                           \
		if (next != NULL && strlen(said) < 64)                            \
			next(said);                                               \
	}

FORWARD(chain_say)
FORWARD(cuChainSay)
