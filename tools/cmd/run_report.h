/*
 * What `hotpin run --profile` prints when the program has ended.
 */
#ifndef HP_TOOLS_CMD_RUN_REPORT_H
#define HP_TOOLS_CMD_RUN_REPORT_H

#include <stdint.h>

/* Makes and returns a folder of its own for the profiles of a run; NULL: that is not possible. */
const char *run_report_folder(void);

/*
 * Prints to stdout the first screen of the profile that the run wrote to `out`, a value of
 * HOTPIN_OUT; or a line for each of several profiles.  A rank prints its own.  `began_ns`, of
 * CLOCK_REALTIME: older files are not of this run.  A folder of run_report_folder() is removed.
 * `command`: the program; NULL: it was not started, so nothing is printed.
 */
void run_report(const char *out, uint64_t began_ns, const char *command);

#endif
