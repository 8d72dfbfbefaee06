/*
 * Pins in the child of fork().
 */
#ifndef HP_PIN_FORK_H
#define HP_PIN_FORK_H

/*
 * In the child of fork(), after hp_locks_after_fork_child(): all blocks are plain memory, also
 * those that the parent has pinned or registered, and no block will be pinned.
 */
void pin_after_fork_child(void);

#endif
