/*
 * Prints a profile as text.
 */
#ifndef HP_TOOLS_CMD_REPORT_H
#define HP_TOOLS_CMD_REPORT_H

/* Prints the first screen of the report of a profile.  Returns the exit status. */
int report_first(char *path);

#endif
