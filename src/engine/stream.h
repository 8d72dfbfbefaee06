/* The queries of streams and the waits for streams that hotpin adds. */
#ifndef HP_ENGINE_STREAM_H
#define HP_ENGINE_STREAM_H

#include "real/real.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Each function takes the stream as the program's call named it; `per_thread`: stream 0 is the
 * thread's own.
 */

/* True if work on the stream is being captured, or if the driver cannot tell. */
bool stream_is_captured(CUstream stream, bool per_thread);

/* True if the stream has not completed its work.  One call into the driver; counted. */
bool stream_is_busy(CUstream stream, bool per_thread);

/* True for the legacy stream. */
bool stream_is_legacy(CUstream stream, bool per_thread);

/*
 * True if this is another stream, and it and the legacy stream wait for each other.  True also for
 * a handle that the driver does not know.
 */
bool stream_follows_legacy(CUstream stream, bool per_thread);

/*
 * True if the legacy stream has work, and this is another stream that is ordered behind it.
 * stream_is_busy() reports a stream without own work as idle, even if it would wait for the legacy
 * stream.
 */
bool stream_is_behind_legacy(CUstream stream, bool per_thread);

/* Waits for the stream; keeps captures of other threads valid.  Counted. */
CUresult stream_wait(CUstream stream, bool per_thread);

/*
 * Around hotpin's work on the legacy stream, and questions about it: while a capture is active, no
 * thread may.  enqueue_begin() returns false then; otherwise enqueue_end() must follow.  Never
 * waits.
 */
bool enqueue_begin(void);
void enqueue_end(void);

/*
 * Called once a capture counts (state_captures): waits for the threads that have begun, until
 * hp_now_ns() reaches `until_ns`.
 */
void enqueue_wait(uint64_t until_ns);

/* In the child of fork(): no thread has begun. */
void enqueue_after_fork_child(void);

#endif
