/*
 * site.c - what became of the blocks of a site.
 */
#include "host/site.h"

bool site_is_dense(uint32_t site)
{
	(void)site;
	return false;
}
