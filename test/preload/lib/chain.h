/* A function that all libraries of a chain export; each appends its name. */
#ifndef HP_TEST_PRELOAD_CHAIN_H
#define HP_TEST_PRELOAD_CHAIN_H

#pragma GCC visibility push(default)
void chain_say(char *said);
/* A name that looks like a driver function. */
void cuChainSay(char *said);
#pragma GCC visibility pop

#endif
