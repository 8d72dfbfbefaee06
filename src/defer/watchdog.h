/*
 * Who opens what nobody touches, and what a device that has failed will never fill?
 *
 * A thread that sleeps while nothing is closed.  It looks at tickets, and at events only where
 * somebody waits or a ticket has been long in coming: those who wait in a signal handler cannot ask
 * the driver.
 */
#ifndef HP_DEFER_WATCHDOG_H
#define HP_DEFER_WATCHDOG_H

#include <stdbool.h>

/* Starts it, once.  False: it cannot be had.  Allocates; calls no driver. */
bool watchdog_start(void);

/*
 * Nothing is closed, and nothing can be: returns when the thread is out of the driver, where it is
 * no more to go.  `patience_ns` at most.
 */
void watchdog_settle(unsigned long patience_ns);

/* In the child of fork(): there is none. */
void watchdog_after_fork_child(void);

#endif
