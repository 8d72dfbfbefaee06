/*
 * Unknown driver functions that a program links, so that hotpin does not see their calls.
 */
#ifndef HP_SHIM_DRIVER_LINKED_H
#define HP_SHIM_DRIVER_LINKED_H

/* Looks at all loaded files, and treats what they link by unknown_acts().  Once there is a device.
 */
void linked_find(void);

/* Called if GATE_LOADED is set.  Clears it, and looks at the files if there is a device. */
void linked_loaded(void);

#endif
