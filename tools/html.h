/*
 * The tables of a page.
 */
#ifndef HP_TOOLS_HTML_H
#define HP_TOOLS_HTML_H

#include "profile.h"

#include <stdio.h>

/* Copies, kernels, call sites, buffers, bounds, ranges of one run, each under its title. */
void html_tables(FILE *to, const struct profile *profile);

#endif
