/*
 * The rate of the link between host and device, from what the kernel says of it.
 */
#ifndef HP_TRACE_COLLECT_LINK_H
#define HP_TRACE_COLLECT_LINK_H

#include <stdint.h>

/*
 * Returns the bytes per second that the PCIe link of a device can move in each direction; 0:
 * unknown.  `bus_id` is what cuDeviceGetPCIBusId() returns.  `root` precedes every file name; it is
 * "" except in tests.  Reads four files at most, and keeps errno.
 */
uint64_t link_rate(const char *root, const char *bus_id);

#endif
