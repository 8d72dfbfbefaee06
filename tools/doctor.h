/*
 * What `hotpin doctor` found: one line a finding, with what it means for the user.
 */
#ifndef HP_TOOLS_DOCTOR_H
#define HP_TOOLS_DOCTOR_H

enum verdict {
	WORKS,  /* "ok" */
	LIMITS, /* works, but something is slower or left out */
	FAILS   /* "no": hotpin cannot do anything for the user */
};

/* Prints a line: the verdict, `what` was looked at, and the finding.  Remembers the worst. */
void doctor_find(enum verdict verdict, const char *what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Calls `look` in a child, because what it calls may crash or hang: either is a finding under
 * `what`, as is `seconds` without a line.  What the child finds counts as ours.
 */
void doctor_find_apart(const char *what, unsigned seconds, void (*look)(void));

/*
 * Where a file of /proc, /sys or /etc lies: there, or below the folder that tests name.  Valid
 * until the next call.
 */
const char *doctor_path(const char *path);

/* The program may be one that uses no device, and hotpin's part then is its profile. */
void doctor_uses_no_device(void);

/*
 * The parts, in doctor_*.c: the driver, CUPTI and system calls (call apart), this machine, a
 * program.
 */
void doctor_driver(void);
void doctor_cupti(void);
void doctor_calls(void);
void doctor_machine(void);
void doctor_program(const char *name);

#endif
