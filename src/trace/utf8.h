/*
 * Writes code points as UTF-8.
 */
#ifndef HP_TRACE_UTF8_H
#define HP_TRACE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Writes `letter`, a surrogate as U+FFFD; returns the bytes written, at most four. */
size_t utf8_put(uint32_t letter, char *ret);

#endif
