/*
 * gate.c - sets and clears bits of the gate.
 */
#include "engine/gate.h"

_Atomic uint32_t gate_word = GATE_UNREADY;

void gate_clear(uint32_t bits)
{
	atomic_fetch_and(&gate_word, ~bits);
}

void gate_set(enum gate_bit bit)
{
	atomic_fetch_or(&gate_word, (uint32_t)bit);
}
