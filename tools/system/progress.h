/*
 * The progress of long work, for a user who waits at a terminal.
 */
#ifndef HP_TOOLS_SYSTEM_PROGRESS_H
#define HP_TOOLS_SYSTEM_PROGRESS_H

#include <stdint.h>

/*
 * Rewrites one line on stderr: "hotpin: reading run.json 42 %".  Prints nothing if stderr is no
 * terminal, or in the first half second.  `all` 0: no share is known.
 */
void progress_show(const char *what, uint64_t done, uint64_t all);

/* Removes the line.  Called before any other output. */
void progress_clear(void);

#endif
