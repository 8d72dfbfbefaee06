/*
 * The timeline as data that page_timeline.js makes a picture of that can be zoomed.
 */
#ifndef HP_TOOLS_HTML_TIMELINE_DATA_H
#define HP_TOOLS_HTML_TIMELINE_DATA_H

#include "timeline.h"

#include <stdio.h>

void html_timeline_data(FILE *to, struct profile *profile, const struct timeline *timeline);

#endif
