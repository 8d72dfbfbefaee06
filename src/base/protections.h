/*
 * Protections that a test build can leave out.
 *
 * In an ordinary build hp_keeps() is always true and costs nothing.  In a build with
 * -Dleave_out=true the variable HOTPIN_LEAVE_OUT names one protection for which hp_keeps() is
 * false.  Then a test must fail: test/leave_out tries every protection.
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
/* Returns the protection that is left out, or HP_PROTECTION_COUNT.  Any thread, any time. */
enum hp_protection hp_left_out(void);

#define hp_keeps(name) (hp_left_out() != HP_PROTECTION_##name)
#else
#define hp_keeps(name) ((void)HP_PROTECTION_##name, true)
#endif

#endif
