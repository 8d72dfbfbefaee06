/*
 * How far long work has come, for who waits at a terminal.
 */
#ifndef HP_TOOLS_PROGRESS_H
#define HP_TOOLS_PROGRESS_H

#include <stdint.h>

/*
 * Rewrites one line on stderr: "hotpin: reading run.json 42 %".  Silent where stderr is no
 * terminal, and for what takes under half a second.  all 0: no share is known.
 */
void progress_show(const char *what, uint64_t done, uint64_t all);

/* Takes the line away; before anything else is written. */
void progress_clear(void);

#endif
