/*
 * state.c - the variables of state.h.
 */
#include "engine/state.h"

_Atomic bool state_active;
_Atomic int state_process;
_Atomic bool state_device_found;
_Atomic int state_captures;
_Atomic bool state_copies_pass;
