/*
 * The process's start, first use of the device, and end.
 */
#ifndef HP_SHIM_LOAD_LOAD_H
#define HP_SHIM_LOAD_LOAD_H

/* Options, real functions, heap.  Idempotent: the constructor, or an earlier call, runs it. */
void shim_start(void);

/* Registers our handlers for fork() and for the ends of threads, once, at the first malloc(). */
void shim_watch_forks(void);

/*
 * The driver lacks `name`, which hotpin cannot do without: passes every call through from here on.
 * Called before any call has reached the driver.
 */
void shim_stand_aside(const char *name);

/* The first cuInit() has succeeded. */
void shim_device_found(void);

/* Writes the profile, once; later calls do nothing. */
void shim_report(void);

#endif
