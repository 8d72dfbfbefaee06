/*
 * Finds libcupti, and whether another tool uses it.
 */
#ifndef HP_BASE_CUPTI_FIND_H
#define HP_BASE_CUPTI_FIND_H

#include <stdbool.h>
#include <stddef.h>

#define HP_CUPTI_PATH_MAX 4096

/*
 * True if the environment shows that another profiler or debugger works in this process; writes the
 * evidence to `ret_why`, which is NULL if `room` is 0.  CUPTI allows one client in a process.
 */
bool hp_cupti_is_someone_elses(char *ret_why, size_t room);

/*
 * Opens libcupti: one that is loaded; else the one next to a loaded CUDA library, of its version;
 * else by its name; else from the toolkit.  A path of hotpin's choice comes last, because a program
 * that loads its own libcupti later would get hotpin's.  A library that other users can change is
 * opened only by its name, on the loader's path.  A major version newer than the driver's is not
 * opened; `driver_version` is that of cuDriverGetVersion(), 0: unknown.  Returns dlopen()'s handle,
 * or NULL with the reason in `ret_why`.  One thread of a process calls this, without any lock.
 */
void *hp_cupti_find(int driver_version, char *ret_why, size_t room);

#endif
