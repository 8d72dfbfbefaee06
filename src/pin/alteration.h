/*
 * Changes that the program makes to the pages of a block, other than by malloc() and free().
 */
#ifndef HP_PIN_ALTERATION_H
#define HP_PIN_ALTERATION_H

#include <stddef.h>

/*
 * The program is about to change the mapping of [address, address + bytes).  Unpins the blocks
 * there, which waits for running kernels, and does not pin them again until they are freed and
 * mapped again.  Any thread; keeps errno.
 */
void pin_altered(const void *address, size_t bytes);

#endif
