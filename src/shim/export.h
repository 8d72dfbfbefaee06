/*
 * The mark of exported functions.
 */
#ifndef HP_SHIM_EXPORT_H
#define HP_SHIM_EXPORT_H

/* src/libhotpin.map lists these names too; test/rules/exports.sh compares both with the library. */
#define HP_EXPORT __attribute__((visibility("default")))

#endif
