/* control.h - connects the control interface with the log. */
#ifndef STANDIN_CONTROL_H
#define STANDIN_CONTROL_H

/* All are called with the lock held. */
const char *log_text(void);
void log_reset(void);
int log_calls(const char *name);

#endif
