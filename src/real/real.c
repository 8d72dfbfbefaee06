/*
 * real.c - the addresses of the driver's functions.
 *
 * The driver is found under the loader's lock, inside the first call of another thread, or while
 * libcuda initializes itself.  So no lock is taken and no thread waits.  Threads that run this at
 * once all do the whole work and store the same values.
 */
#define _GNU_SOURCE
#include "real/real.h"
#include "base/hash.h"

#include <dlfcn.h>
#include <stdatomic.h>

#define NONE          REAL_NO_STREAM
#define CONFIG        REAL_CONFIG_STREAM
#define ROLE_         .need = REAL_UNUSED
#define ROLE_REQUIRED .need = REAL_REQUIRED
#define ROLE_OPTIONAL .need = REAL_OPTIONAL
#define ROLE_KERNEL   .launch = REAL_LAUNCHES_KERNEL
#define ROLE_GRAPH    .launch = REAL_LAUNCHES_GRAPH

const struct real_driver_fact real_driver_facts[REAL_ROW_COUNT] = {
#define DRIVER(name, class, stream, ...) \
	{ #name, REAL_##class, stream, REAL_UNSEEN, ROLE_##__VA_ARGS__ },
#define WRAPPED DRIVER
#define EXPOSES(name, class, stream, how, ...) \
	{ #name, REAL_##class, stream, REAL_SEEN_##how, ROLE_##__VA_ARGS__ },
#include "real/driver.def"
};

#undef NONE
#undef CONFIG
#undef ROLE_
#undef ROLE_REQUIRED
#undef ROLE_OPTIONAL
#undef ROLE_KERNEL
#undef ROLE_GRAPH

const enum hp_counter real_visibility_counters[REAL_VISIBILITY_COUNT] = {
#define VISIBILITY(how, name) [REAL_SEEN_##how] = HP_COUNT_kept_##name,
#include "real/visibility.def"
};

void *_Atomic real_driver[REAL_ROW_COUNT];

/* The driver's own functions. */
static void *_Atomic driver_own[REAL_ROW_COUNT];

/* The address in all rows while there is no driver. */
static void *_Atomic no_driver_stub;

/* The address in rows of functions that the driver lacks; every caller passes the same one. */
static void *_Atomic missing_stub;

/* The driver library's address, or 0.  The thread that finds the driver first writes it. */
static _Atomic uintptr_t driver_base;

/*
 * Maps addresses to rows, by open addressing.  A slot changes from 0 to an address once; its row is
 * written before its address.
 */
#define SLOT_BITS 11
#define SLOTS     (1 << SLOT_BITS)
_Static_assert(SLOTS > 2 * REAL_ROW_COUNT, "the table stays half empty");
static _Atomic uintptr_t slot_address[SLOTS];
static _Atomic int16_t slot_row[SLOTS];

static unsigned slot_of(uintptr_t address)
{
	return (unsigned)hp_hash(address, SLOT_BITS);
}

static void slot_put(uintptr_t address, int row)
{
	for (unsigned slot = slot_of(address);; slot = (slot + 1) % SLOTS) {
		uintptr_t found = 0;

		if (atomic_load(&slot_address[slot]) == address)
			return;
		/* Two threads may race for a slot: the row claims it. */
		int16_t empty = 0;
		if (!atomic_compare_exchange_strong(&slot_row[slot], &empty, (int16_t)(row + 1)) &&
		    empty != row + 1)
			continue;
		atomic_compare_exchange_strong(&slot_address[slot], &found, address);
		return;
	}
}

int real_driver_row_at(const void *address)
{
	uintptr_t wanted = (uintptr_t)address;

	for (unsigned slot = slot_of(wanted);; slot = (slot + 1) % SLOTS) {
		uintptr_t found = atomic_load_explicit(&slot_address[slot], memory_order_acquire);

		if (found == wanted)
			return atomic_load(&slot_row[slot]) - 1;
		if (found == 0)
			return -1;
	}
}

bool real_driver_loaded(void)
{
	return atomic_load_explicit(&driver_base, memory_order_acquire) != 0;
}

bool real_driver_has(enum real_row row)
{
	void *address = atomic_load_explicit(&real_driver[row], memory_order_relaxed);

	return real_driver_loaded() && address != missing_stub;
}

const char *real_driver_lacks(void)
{
	for (int row = 0; row < REAL_ROW_COUNT; row++)
		if (real_driver_facts[row].need == REAL_REQUIRED &&
		    !real_driver_has((enum real_row)row))
			return real_driver_facts[row].name;
	return NULL;
}

bool real_driver_contains(const void *address)
{
	Dl_info info;
	uintptr_t base = atomic_load_explicit(&driver_base, memory_order_acquire);

	return base != 0 && dladdr(address, &info) != 0 && (uintptr_t)info.dli_fbase == base;
}

void *real_driver_own(enum real_row row)
{
	return atomic_load_explicit(&driver_own[row], memory_order_relaxed);
}

void real_driver_use(enum real_row row, void *address)
{
	atomic_store_explicit(&real_driver[row], address, memory_order_release);
}

/* Stores a row's first address: a later one is another library's (real_driver_use()). */
static void put(int row, void *address)
{
	void *found = NULL;

	if (!atomic_compare_exchange_strong(&real_driver[row], &found, address) &&
	    found == atomic_load(&no_driver_stub))
		atomic_compare_exchange_strong(&real_driver[row], &found, address);
}

void real_driver_fill(void *stand_in)
{
	atomic_store(&no_driver_stub, stand_in);
	for (int row = 0; row < REAL_ROW_COUNT; row++)
		put(row, stand_in);
}

unsigned real_driver_load(void *handle, real_dlsym_fn look_up, bool (*is_ours)(const void *),
			  void *missing)
{
	bool has[REAL_ROW_COUNT] = { false };
	unsigned found = 0;
	uintptr_t base = 0;
	Dl_info info;

	for (int row = 0; row < REAL_ROW_COUNT; row++) {
		void *address = look_up(handle, real_driver_facts[row].name);

		if (address == NULL || is_ours(address))
			continue;
		has[row] = true;
		slot_put((uintptr_t)address, row);
		atomic_store_explicit(&driver_own[row], address, memory_order_relaxed);
		put(row, address);
		if (found++ == 0 && dladdr(address, &info) != 0)
			base = (uintptr_t)info.dli_fbase;
	}
	if (found == 0)
		return 0;

	atomic_store(&missing_stub, missing);
	for (int row = 0; row < REAL_ROW_COUNT; row++)
		if (!has[row])
			put(row, missing);
	atomic_store_explicit(&driver_base, base, memory_order_release);
	return found;
}
