/* What the libraries in front of each other all export; appends who was asked. */
#ifndef HP_TEST_PRELOAD_CHAIN_H
#define HP_TEST_PRELOAD_CHAIN_H

#pragma GCC visibility push(default)
void chain_say(char *said);
/* A name that could be the driver's. */
void cuChainSay(char *said);
#pragma GCC visibility pop

#endif
