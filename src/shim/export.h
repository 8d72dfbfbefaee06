/*
 * The mark of the functions that the program can see.
 */
#ifndef HP_SHIM_EXPORT_H
#define HP_SHIM_EXPORT_H

/* src/libhotpin.map lists them too; the rule `exports` compares both with what is exported. */
#define HP_EXPORT __attribute__((visibility("default")))

#endif
