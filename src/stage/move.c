/*
 * move.c - madvise() faults pages in, and fails where a touch would raise a signal.
 *
 * On untouched pages madvise() costs less than the faults; on 2 MiB pages it costs nothing.  On 4
 * KiB pages that are present it costs 200 ns each, a quarter of one thread's copy (Linux 6.18).  So
 * hotpin asks the kernel for the kind of mapping once for each copy, and calls mincore() for each
 * piece.  Kernels before 5.14 have no such madvise(): there process_vm_readv() copies, for a fifth
 * more.
 *
 * Uploads use non-temporal stores into staging memory, because the device reads lines in another
 * core's cache slowly.  On an H200's host (Xeon, 16 cores) a staged upload of 16 MiB took 665 us
 * with them and 842 us without.  Wider stores gain nothing, and downloads gain nothing either.
 *
 * A program that changes a mapping between the check and the copy races with its own copy.
 */
#define _GNU_SOURCE
#include "stage/move.h"
#include "base/bounds.h"
#include "base/kernel.h"
#include "base/procfile.h"
#include "base/protections.h"

#include <emmintrin.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINE           64
#define POPULATE_READ  22 /* <linux/mman.h> of 5.14 */
#define POPULATE_WRITE 23

#define VECTORS        64

/* PROCMAP_QUERY of <linux/fs.h> (6.11). */
struct mapping {
	uint64_t size, wanted, address;
	uint64_t start, end, flags, page_bytes, offset, inode;
	uint32_t major, minor, name_bytes, build_bytes;
	uint64_t name, build;
};
#define ASK_MAPPING    _IOWR('f', 17, struct mapping)
#define MAPPING_READ   1
#define MAPPING_WRITE  2
#define MAPPING_SHARED 8

/* Checking whether a page is present costs a twentieth of faulting it in. */
#define PRESENT_TIMES  8

#define MAPPINGS_MOST  64 /* of one copy; if there are more, each piece is checked */

static _Atomic int way; /* 0: not known yet, 1: madvise(), -1: process_vm_readv() */

static bool populate(const char *at, size_t bytes, int advice)
{
	uintptr_t first = (uintptr_t)at & -HP_PAGE_BYTES;

	return hp_advise((void *)first, (uintptr_t)at + bytes - first, advice) == 0;
}

static bool can_populate(void)
{
	int known = atomic_load_explicit(&way, memory_order_relaxed);

	if (known == 0) {
		known = populate((const char *)&way, sizeof(way), POPULATE_READ) ? 1 : -1;
		atomic_store(&way, known);
	}
	return known > 0;
}

/* Returns the host side of bytes [at, at + *bytes); shortens *bytes to end at a gap. */
static const char *run_at(const struct shape *shape, const char *host, size_t at, size_t *bytes)
{
	size_t run, offset = shape_offset(shape, at, &run);

	*bytes = hp_least(*bytes, run);
	return host + offset;
}

/* As run_at(), but shortens *bytes at the end of a slice only.  *ret_extent includes the gaps. */
static const char *rows_at(const struct shape *shape, const char *host, size_t at, size_t *bytes,
			   size_t *ret_extent)
{
	size_t slice = shape->width * shape->rows, run;
	size_t first = shape_offset(shape, at, &run);

	*bytes = hp_least(*bytes, run > slice - at % slice ? run : slice - at % slice);
	*ret_extent = shape_offset(shape, at + *bytes - 1, &run) + 1 - first;
	return host + first;
}

static bool probe(const struct shape *shape, const char *host, size_t at, size_t bytes, bool write)
{
	bool whole = shape_spans_gaps(shape, write);

	for (size_t done = 0, now; done < bytes; done += now) {
		now = bytes - done;
		size_t extent;
		const char *first = whole ? rows_at(shape, host, at + done, &now, &extent)
					  : run_at(shape, host, at + done, &now);
		if (!populate(first, whole ? extent : now, write ? POPULATE_WRITE : POPULATE_READ))
			return false;
	}
	return true;
}

static bool mappings_are_plain(int maps, uintptr_t at, uintptr_t end)
{
	for (int turn = 0; at < end; turn++) {
		struct mapping mapping = { .size = sizeof(mapping),
					   .wanted = MAPPING_READ | MAPPING_WRITE,
					   .address = at };

		if (turn == MAPPINGS_MOST || syscall(SYS_ioctl, maps, ASK_MAPPING, &mapping) != 0 ||
		    mapping.inode != 0 || (mapping.flags & MAPPING_SHARED) != 0)
			return false;
		at = mapping.end;
	}
	return true;
}

static _Atomic bool cannot; /* the kernel has no PROCMAP_QUERY */

static const char maps_path[] = "/proc/self/maps";

void move_keep(void)
{
	char text[2];

	hp_procfile_read(text, sizeof(text), (const char *const[]){ maps_path, NULL });
}

void move_keys_are_used(void)
{
	atomic_store(&cannot, true);
}

bool move_is_plain(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address;

	if (atomic_load_explicit(&cannot, memory_order_relaxed))
		return false;
	int maps = hp_procfile_kept(maps_path);
	if (maps < 0)
		return false;
	errno = 0;
	bool plain = mappings_are_plain(maps, at, at + bytes);
	if (!plain && errno == ENOTTY)
		atomic_store(&cannot, true);
	return plain;
}

/* True if every page of [first, first + bytes) is present. */
static bool is_present(const char *first, size_t bytes)
{
	uintptr_t at = (uintptr_t)first & -HP_PAGE_BYTES, end = (uintptr_t)first + bytes;
	unsigned char there[256];

	for (size_t now; at < end; at += now) {
		now = hp_least(end - at, sizeof(there) * HP_PAGE_BYTES);
		if (hp_in_core((void *)at, now, there) != 0)
			return false;
		size_t pages = (now + HP_PAGE_BYTES - 1) / HP_PAGE_BYTES;
		unsigned char all = 1;
		for (size_t i = 0; i < pages; i++)
			all &= there[i];
		if (all == 0)
			return false;
		now = pages * HP_PAGE_BYTES;
	}
	return true;
}

/* True if every page of the piece, gaps included, is present.  False if it is mostly gaps. */
static bool piece_is_present(const struct shape *shape, const char *host, size_t at, size_t bytes)
{
	size_t run, first = shape_offset(shape, at, &run);
	size_t last = shape_offset(shape, at + bytes - 1, &run);

	return (last - first) / PRESENT_TIMES < bytes && is_present(host + first, last - first + 1);
}

/* Lets the kernel copy to or from the program's memory. */
static bool by_kernel(char *staging, const struct shape *shape, const char *host, size_t at,
		      size_t bytes, bool write)
{
	struct iovec rows[VECTORS];

	for (size_t done = 0; done < bytes;) {
		struct iovec own = { staging + done, 0 };
		size_t count = 0;

		while (count < VECTORS && done < bytes) {
			size_t now = bytes - done;

			rows[count].iov_base = (char *)run_at(shape, host, at + done, &now);
			rows[count++].iov_len = now;
			own.iov_len += now;
			done += now;
		}
		/*
		 * The last argument is passed on the stack, where an int would set only half of the
		 * word.
		 */
		if (syscall(write ? SYS_process_vm_writev : SYS_process_vm_readv, getpid(), &own,
			    1L, rows, count, 0L) != (long)own.iov_len)
			return false;
	}
	return true;
}

/* True if the thread may touch the piece without a signal. */
static bool may_touch(const struct shape *shape, const char *host, size_t at, size_t bytes,
		      enum move_check check, bool write)
{
	return check == MOVE_UNCHECKED || !hp_keeps(workers_probe_pages) ||
	       (check == MOVE_CHECK_PRESENT && piece_is_present(shape, host, at, bytes)) ||
	       probe(shape, host, at, bytes, write);
}

/*
 * Copies by non-temporal stores.  For rows shorter than a page, the unaligned ends cost too much.
 */
static void store_non_temporal(char *to, const char *from, size_t bytes)
{
	size_t head = bytes < HP_PAGE_BYTES ? bytes : -(uintptr_t)to % LINE;
	size_t lines = (bytes - head) / LINE * LINE, at = head;

	memcpy(to, from, head);
	for (; at < head + lines; at += LINE)
		for (size_t i = 0; i < LINE; i += sizeof(__m128i))
			_mm_stream_si128((__m128i *)(void *)(to + at + i),
					 _mm_loadu_si128((const void *)(from + at + i)));
	memcpy(to + at, from + at, bytes - at);
	/* The stores must be visible before the piece counts as moved. */
	_mm_sfence();
}

bool move_bytes(bool to_device, void *staging, const struct shape *shape, void *host, size_t at,
		size_t bytes, enum move_check check)
{
	if (check != MOVE_UNCHECKED && !can_populate())
		return by_kernel(staging, shape, host, at, bytes, !to_device);
	if (!may_touch(shape, host, at, bytes, check, !to_device))
		return false;
	for (size_t done = 0, now; done < bytes; done += now) {
		now = bytes - done;
		const char *run = run_at(shape, host, at + done, &now);
		if (to_device)
			store_non_temporal((char *)staging + done, run, now);
		else
			memcpy((char *)run, (const char *)staging + done, now);
	}
	return true;
}
