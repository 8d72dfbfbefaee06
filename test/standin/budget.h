/*
 * Has the library kept to its budget?
 *
 * In front of the driver only the library registers with the flags that it uses (PORTABLE and no
 * other): what a program under test registers itself has other flags, and is not counted.  All
 * functions are called with the lock held.
 */
#ifndef HP_STANDIN_BUDGET_H
#define HP_STANDIN_BUDGET_H

#include <stddef.h>

/* Ends the process where more is registered than HOTPIN_PIN_BUDGET allowed it at its start. */
void budget_take(unsigned flags, size_t bytes);
void budget_give(unsigned flags, size_t bytes);

#endif
