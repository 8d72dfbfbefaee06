/*
 * state.c - the variables of state.h.
 */
#include "engine/state.h"
#include "engine/gate.h"

_Atomic bool state_active;
_Atomic int state_process;
_Atomic bool state_device_found;
_Atomic int state_captures;
_Atomic bool state_copies_pass;
_Atomic uint32_t gate_word = GATE_UNREADY;
