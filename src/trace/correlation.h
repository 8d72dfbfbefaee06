/*
 * Which call of the driver made a copy, where CUPTI tells: by the number that its records of both
 * share.  They come in any order, up to some seconds apart.
 *
 * One thread, that which reads records; memory is bounded.
 */
#ifndef HP_TRACE_CORRELATION_H
#define HP_TRACE_CORRELATION_H

#include "trace/cupti_min.h"
#include "trace/operation.h"

#include <stdbool.h>

/* More than are in flight at once, and a power of two. */
#define CORRELATION_MOST 16384u

/* `caller` is NULL where no call is known.  Each copy is given once. */
typedef void (*correlation_take_fn)(void *arg, const struct cupti_memcpy *copy,
				    const struct correlation_caller *caller);

/* 0 or -ENOMEM.  Once a process. */
int correlation_start(void);

/*
 * CUPTI numbers threads as pthread_self() does, unless another client has changed that.  True once
 * correlation_confirm() was told that one of ours made a call: until then a call of no thread of
 * ours proves nothing.
 */
bool correlation_is_confirmed(void);
void correlation_confirm(void);

/* A record of each kind; copies that are known, or will not be, go to `take`. */
void correlation_called(const struct cupti_call *call, correlation_take_fn take, void *arg);
void correlation_copied(const struct cupti_memcpy *copy, correlation_take_fn take, void *arg);

/* Copies whose call has not been told of for two turns, or `all`, go to `take`. */
void correlation_turn(bool all, correlation_take_fn take, void *arg);

#endif
