/*
 * Writes the profile at the end of the process.
 */
#ifndef HP_SHIM_LOAD_REPORT_H
#define HP_SHIM_LOAD_REPORT_H

/* Writes the profile; later calls do nothing. */
void shim_report(void);

#endif
