/*
 * quota.c - the bound of the free cache, by the kind of process and the memory pressure.
 */
#include "heap/quota.h"
#include "base/lock.h"
#include "heap/expiry.h"
#include "heap/limits.h"
#include "heap/span.h"

#include <assert.h>

#define MIB              ((size_t)1 << 20)

/* Without a device the cache must not make a process larger than its libc would. */
#define PLAIN_KEPT       (60 * MIB)
#define DEVICE_KEPT      (1024 * MIB)
#define DEVICE_KEPT_PART 8 /* of RAM */
#define PRESSED_PART     8

/* Under the lock heap. */
static bool device, attended = true;
static enum heap_pressure pressure;
static size_t yields_below, given_back; /* given_back: above the bound, while no thread attends */

void quota_update(void)
{
	size_t part = limits_ram() / DEVICE_KEPT_PART, most = PLAIN_KEPT;

	assert(hp_lock_held(HP_LOCK_heap));
	if (device && attended)
		most = part < DEVICE_KEPT ? part : DEVICE_KEPT;
	if (pressure == HEAP_PRESSURE_SOME)
		most /= PRESSED_PART;
	else if (pressure == HEAP_PRESSURE_SEVERE || span_is_closed())
		most = 0;
	expiry_set_immediate(pressure != HEAP_PRESSURE_NONE);
	expiry_set_bound(most);
}

void quota_set_device(bool is_there)
{
	assert(hp_lock_held(HP_LOCK_heap));
	device = is_there;
	quota_update();
}

void quota_set_pressure(enum heap_pressure level)
{
	assert(hp_lock_held(HP_LOCK_heap));
	pressure = level;
	quota_update();
}

bool quota_has_pressure(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return pressure != HEAP_PRESSURE_NONE;
}

void quota_set_attended(bool is)
{
	assert(hp_lock_held(HP_LOCK_heap));
	attended = is;
	if (is)
		given_back = 0;
	quota_update();
}

void quota_set_yielding(size_t below)
{
	assert(hp_lock_held(HP_LOCK_heap));
	yields_below = below;
}

bool quota_yields(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return bytes < yields_below && given_back > PLAIN_KEPT;
}

void quota_note_given_back(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (!attended)
		given_back += bytes;
}
