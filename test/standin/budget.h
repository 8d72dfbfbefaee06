/*
 * Checks that the library keeps to its pin budget.
 *
 * In front of the driver, only the library registers with the flag PORTABLE and no other flag.
 * Registrations of the program under test have other flags and are not counted.  All functions are
 * called with the lock held.
 */
#ifndef STANDIN_BUDGET_H
#define STANDIN_BUDGET_H

#include <stddef.h>

/* Ends the process if more is registered than HOTPIN_PIN_BUDGET allowed at its start. */
void budget_take(unsigned flags, size_t bytes);
void budget_give(unsigned flags, size_t bytes);

#endif
