/* chain.c - the end of the chain that forward.c describes; the program links it. */
#include "chain.h"

#include <string.h>

void chain_say(char *said)
{
	strcat(said, "end");
}

void cuChainSay(char *said)
{
	strcat(said, "end");
}
