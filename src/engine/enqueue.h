/*
 * The threads that enqueue hotpin's work on the legacy stream, or ask about that stream.  While a
 * capture is active no thread may.
 */
#ifndef HP_ENGINE_ENQUEUE_H
#define HP_ENGINE_ENQUEUE_H

#include <stdbool.h>
#include <stdint.h>

/* False: a capture is active.  Otherwise enqueue_end() must follow.  Never waits. */
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
