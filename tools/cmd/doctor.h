/*
 * The findings of `hotpin doctor`: one line each, with the meaning for the user.
 */
#ifndef HP_TOOLS_CMD_DOCTOR_H
#define HP_TOOLS_CMD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
	WORKS,  /* "ok" */
	LIMITS, /* works, but something is slower or left out */
	FAILS   /* "no": hotpin cannot do anything for the user */
};

/* Prints a line: the verdict, the subject `what`, and the finding.  Remembers the worst verdict. */
void doctor_find(enum verdict verdict, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Read a file of /proc or /sys, or below the folder of a test: its text, or the number of a line
 * "Name:  number".  False or 0: there is none.
 */
bool doctor_read(const char *path, char *ret, size_t room);
uint64_t doctor_field(const char *path, const char *name);

/* Says that the program seems to use no device, so that hotpin can only profile it. */
void doctor_uses_no_device(void);

/*
 * The parts, in doctor_*.c: the driver and CUPTI (called in a child), this machine, a program.
 */
void doctor_driver(void);
void doctor_cupti(void);
void doctor_machine(void);
void doctor_program(const char *name);

#endif
