/*
 * guard.c - the per-thread mark of guard.h.
 */
#include "base/guard.h"

__thread unsigned hp_guard_depth __attribute__((tls_model("initial-exec")));
