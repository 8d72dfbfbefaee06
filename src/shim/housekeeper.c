/*
 * housekeeper.c - a thread that unpins what is due while the device has nothing to do.
 *
 * cuMemHostUnregister() waits for every running kernel, so it is called neither from free() nor
 * while work may be on the device.  The thread exists from the first time that something is due.
 */
#include "base/log.h"
#include "base/thread.h"
#include "host/pin.h"
#include "shim/shim.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* At most this much before it looks again whether the device is still quiet: about 1 ms. */
#define BYTES_A_TURN ((size_t)64 << 20)

static _Atomic int thread_state; /* 0: none, 1: runs, -1: could not be had */
static _Atomic uint32_t wakes;

static bool still_quiet(void)
{
	return (atomic_load(&shim_gate) & SHIM_GATE_QUIET) != 0;
}

static void *housekeep(void *arg)
{
	(void)arg;
	for (;;) {
		uint32_t seen = atomic_load(&wakes);

		while (still_quiet() && pin_wants_idle() && pin_when_idle(BYTES_A_TURN) > 0)
			continue;
		syscall(SYS_futex, &wakes, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	}
	return NULL;
}

static void start_thread(void)
{
	int expected = 0;

	if (!atomic_compare_exchange_strong(&thread_state, &expected, 1) ||
	    hp_thread_start(housekeep, (size_t)256 << 10) == 0)
		return;
	atomic_store(&thread_state, -1);
	hp_debug("no thread for unpinning: freed pinned buffers are kept");
}

void shim_device_quiet(void)
{
	if (!pin_wants_idle())
		return;
	shim_gate_close(SHIM_GATE_QUIET);
	start_thread();
	atomic_fetch_add(&wakes, 1);
	syscall(SYS_futex, &wakes, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void shim_housekeeper_forget(void)
{
	atomic_store(&thread_state, 0);
	shim_gate_open(SHIM_GATE_QUIET);
}
