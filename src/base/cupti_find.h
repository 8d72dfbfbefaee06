/*
 * Which libcupti do we get, and is it free for us?
 */
#ifndef HP_BASE_CUPTI_FIND_H
#define HP_BASE_CUPTI_FIND_H

#include <stdbool.h>
#include <stddef.h>

#define HP_CUPTI_PATH_MAX 4096

/*
 * Another profiler or debugger is at work in this process, as its environment tells: writes what
 * was seen to `ret_why`.  CUPTI has one client a process.
 */
bool hp_cupti_is_someone_elses(char *ret_why, size_t room);

/*
 * Opens libcupti: one that is loaded already, else one that belongs to a CUDA library that is
 * loaded, else by its bare name, else out of the toolkit; never an absolute path first, for that
 * would decide which libcupti a program gets that loads its own later.  `driver_version` (as
 * cuDriverGetVersion() gives it, 0: unknown) keeps a newer major version than the driver's from
 * being taken.  Returns what dlopen() did, or NULL with the reason in `ret_why`.  One thread of a
 * process; no lock of ours may be held.
 */
void *hp_cupti_find(int driver_version, char *ret_why, size_t room);

#endif
