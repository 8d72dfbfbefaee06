/*
 * Sentences on what hotpin did in a run.
 */
#ifndef HP_TOOLS_EFFECT_H
#define HP_TOOLS_EFFECT_H

#include "profile.h"

#include <stddef.h>

#define EFFECT_SENTENCES 4
#define EFFECT_ROOM      240

/* Writes a sentence for each kind of action; returns how many.  0: hotpin changed no copy. */
size_t effect_say(const struct profile *profile, char ret[EFFECT_SENTENCES][EFFECT_ROOM]);

#endif
