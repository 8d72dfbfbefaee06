/*
 * The timeline as data, which page_timeline.js draws as a zoomable chart.
 */
#ifndef HP_TOOLS_HTML_TIMELINE_DATA_H
#define HP_TOOLS_HTML_TIMELINE_DATA_H

#include "timeline.h"

#include <stdio.h>

void html_timeline_data(FILE *to, struct profile *profile, const struct timeline *timeline);

#endif
