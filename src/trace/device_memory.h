/*
 * The device memory that the program has allocated over time, from CUPTI's records.
 *
 * Records of several threads arrive out of order, and the driver reuses addresses.  So records are
 * kept, and added up by time when there is no room for another one, or at the end.
 *
 * A free counts as much as its allocation did.  So no sum is below 0, and the bytes in the record
 * of a free do not matter.
 */
#ifndef HP_TRACE_DEVICE_MEMORY_H
#define HP_TRACE_DEVICE_MEMORY_H

#include "trace/memory_curve.h"

#include <stdbool.h>

#define DEVICE_MEMORY_DEVICES     64
#define DEVICE_MEMORY_BLOCKS_MOST (1u << 16) /* allocated at once */

struct device_memory_record {
	uint64_t at_ns, address;
	uint64_t bytes; /* of an allocation; 0: unknown */
	uint32_t device;
	bool frees;
	bool counts; /* false: may be a free of memory that is on no device */
};

struct device_memory_sum {
	struct memory_curve *curve; /* NULL: no record */
	uint64_t uncounted;         /* allocations of unknown size or address, or without room */
	uint64_t unknown_frees;     /* of memory whose allocation has no record */
};

struct device_memory;

/* Returns NULL if there is no memory for it. */
struct device_memory *device_memory_create(void);

/* `device` must be less than DEVICE_MEMORY_DEVICES. */
void device_memory_add(struct device_memory *memory, const struct device_memory_record *record);

/* Adds up all records. */
void device_memory_settle(struct device_memory *memory);

/* Returns the sums of a device, up to date after device_memory_settle(). */
const struct device_memory_sum *device_memory_of(const struct device_memory *memory, size_t device);

/*
 * Notes that the process's last context has ended, and all its device memory with it.  CUPTI may
 * have no record of that.  Any thread.
 */
void device_memory_all_gone(uint64_t at_ns);

#endif
