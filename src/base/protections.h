/*
 * Is this protection in force?
 *
 * Yes, and the question costs nothing.  But a build with -Dleave_out=true is told by the variable
 * HOTPIN_LEAVE_OUT to do without one, and then a test must fail: test/leave_out tries them all.
 */
#ifndef HP_BASE_PROTECTIONS_H
#define HP_BASE_PROTECTIONS_H

#include <stdbool.h>

enum hp_protection {
#define PROTECTION(name, text, ...) HP_PROTECTION_##name,
#include "base/protections.def"
	HP_PROTECTION_COUNT
};

#ifdef HP_LEAVE_OUT
/* The one that is left out; HP_PROTECTION_COUNT: none.  Any thread, from the first call on. */
enum hp_protection hp_left_out(void);

#define hp_keeps_one(protection) (hp_left_out() != (protection))
#else
#define hp_keeps_one(protection) ((void)(protection), true)
#endif
#define hp_keeps(name) hp_keeps_one(HP_PROTECTION_##name)

#endif
