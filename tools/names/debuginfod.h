/*
 * Debug files of servers that the user has configured (debuginfod(8)).
 */
#ifndef HP_TOOLS_NAMES_DEBUGINFOD_H
#define HP_TOOLS_NAMES_DEBUGINFOD_H

/*
 * Returns the allocated path of the debug file with that build ID (hexadecimal digits), in the
 * cache of the user.  NULL: there is none, or DEBUGINFOD_URLS names no server.  Only for build IDs
 * of programs on this machine: a stranger's profile must not choose what is asked for.  May wait
 * for the network.
 */
char *debuginfod_find(const char *build_id);

#endif
