/*
 * Is this thread already inside hotpin?  Then what it calls is passed through untouched.
 */
#ifndef HP_BASE_GUARD_H
#define HP_BASE_GUARD_H

#include <stdbool.h>

/* Initial-exec: a dynamic TLS block would be allocated by malloc() on first touch. */
extern __thread unsigned hp_guard_depth __attribute__((tls_model("initial-exec")));

/* False: we were inside already, pass through and do not call hp_guard_leave(). */
static inline bool hp_guard_enter(void)
{
	if (hp_guard_depth != 0)
		return false;
	hp_guard_depth = 1;
	return true;
}

static inline void hp_guard_leave(void)
{
	hp_guard_depth = 0;
}

#endif
