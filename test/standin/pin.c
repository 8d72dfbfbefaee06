/*
 * pin.c - registrations that hold physical pages.
 *
 * A GPU driver pins pages, not addresses: after munmap() and mmap() under a registration, DMA
 * continues with the old pages, and page protection does not affect it.  The kernel pins fixed
 * buffers of io_uring in the same way (FOLL_LONGTERM).  So DMA is modeled as fixed reads and writes
 * between such a buffer and a pipe: the kernel serves these inside the call, but wakes a thread for
 * each one of a memfd.  If io_uring is missing or the memlock limit is exhausted, registrations are
 * soft: /proc/self/mem bypasses page protection but accesses new pages.
 */
#include "engine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PINS   4096
#define CHUNK  ((size_t)1 << 30) /* the kernel's limit of one fixed buffer */
#define BOUNCE (1 << 20)         /* what a pipe may hold without privileges */

/* One registration: consecutive fixed buffers of at most CHUNK each. */
struct pin {
	uintptr_t base;
	size_t bytes;
	int first, count;
};

static int ring = -1, bounce[2], self_mem = -1;
static size_t bounce_bytes;
static bool tried;
static unsigned char *ring_map;
static struct io_uring_params params;
static struct io_uring_sqe *sqes;
static struct pin pins[PINS];
static bool slot_used[PINS];

static bool ring_open(void)
{
	struct io_uring_rsrc_register table = { .nr = PINS, .flags = IORING_RSRC_REGISTER_SPARSE };
	size_t bytes;
	int fd;

	if (tried)
		return ring >= 0;
	tried = true;
	if (engine.softpin)
		return false;
	fd = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (fd < 0)
		return false;
	if (pipe2(bounce, O_CLOEXEC | O_NONBLOCK) != 0)
		goto close;
	fcntl(bounce[1], F_SETPIPE_SZ, BOUNCE);
	bounce_bytes = (size_t)fcntl(bounce[1], F_GETPIPE_SZ);
	if (syscall(SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS2, &table, sizeof(table)) !=
	    0)
		goto close;
	bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	if (bytes < params.sq_off.array + params.sq_entries * sizeof(unsigned))
		bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
	ring_map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	sqes = mmap(NULL, params.sq_entries * sizeof(*sqes), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    IORING_OFF_SQES);
	if ((void *)ring_map == MAP_FAILED || (void *)sqes == MAP_FAILED ||
	    !(params.features & IORING_FEAT_SINGLE_MMAP))
		goto close;
	ring = fd;
	return true;
close:
	close(fd);
	return false;
}

static int buffers_set(int first, int count, const struct iovec *iov)
{
	struct io_uring_rsrc_update2 update = { .offset = (unsigned)first,
						.data = (uintptr_t)iov,
						.nr = (unsigned)count };

	return (int)syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS_UPDATE, &update,
			    sizeof(update));
}

static int slots_find(int count)
{
	for (int i = 0, run = 0; i < PINS; i++) {
		run = slot_used[i] ? 0 : run + 1;
		if (run == count)
			return i - count + 1;
	}
	return -1;
}

static int take(uintptr_t base, size_t bytes, bool *ret_fault)
{
	int count = (int)((bytes + CHUNK - 1) / CHUNK), first;

	*ret_fault = false;
	if (!ring_open())
		return -1;
	first = slots_find(count);
	if (first < 0)
		return -1;
	for (int i = 0; i < count; i++) {
		size_t at = (size_t)i * CHUNK;
		struct iovec iov = { (void *)(base + at), bytes - at < CHUNK ? bytes - at : CHUNK };

		if (buffers_set(first + i, 1, &iov) == 1)
			continue;
		*ret_fault = errno == EFAULT;
		while (i-- > 0)
			buffers_set(first + i, 1, &(struct iovec){ NULL, 0 });
		return -1;
	}
	memset(slot_used + first, true, (size_t)count);
	pins[first] = (struct pin){ base, bytes, first, count };
	return first;
}

/* The driver does not change errno. */
int pin_take(uintptr_t base, size_t bytes, bool *ret_fault)
{
	int saved = errno, slot = take(base, bytes, ret_fault);

	errno = saved;
	return slot;
}

void pin_drop(int slot)
{
	if (slot < 0)
		return;
	for (int i = 0; i < pins[slot].count; i++) {
		buffers_set(slot + i, 1, &(struct iovec){ NULL, 0 });
		slot_used[slot + i] = false;
	}
}

/* One DMA of n bytes between a pinned address and the pipe. */
static void transfer(int buffer, uintptr_t at, size_t n, int opcode)
{
	unsigned *sq_tail = (unsigned *)(ring_map + params.sq_off.tail);
	unsigned *sq_array = (unsigned *)(ring_map + params.sq_off.array);
	unsigned *cq_head = (unsigned *)(ring_map + params.cq_off.head);
	unsigned mask = *(unsigned *)(ring_map + params.sq_off.ring_mask);
	unsigned cq_mask = *(unsigned *)(ring_map + params.cq_off.ring_mask);
	struct io_uring_cqe *cqes = (struct io_uring_cqe *)(ring_map + params.cq_off.cqes);

	for (size_t done = 0; done < n;) {
		unsigned tail = *sq_tail, i = tail & mask;
		int moved;

		sqes[i] = (struct io_uring_sqe){ .opcode = (uint8_t)opcode,
						 .fd = bounce[opcode == IORING_OP_WRITE_FIXED],
						 .addr = at + done,
						 .len = (unsigned)(n - done),
						 .buf_index = (uint16_t)buffer };
		sq_array[i] = i;
		__atomic_store_n(sq_tail, tail + 1, __ATOMIC_RELEASE);
		while (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			if (errno != EINTR)
				abort();
		while (*cq_head == __atomic_load_n((unsigned *)(ring_map + params.cq_off.tail),
						   __ATOMIC_ACQUIRE))
			syscall(SYS_io_uring_enter, ring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
		moved = cqes[*cq_head & cq_mask].res;
		__atomic_store_n(cq_head, *cq_head + 1, __ATOMIC_RELEASE);
		if (moved <= 0) {
			fprintf(stderr, "standin: DMA failed: %s\n", strerror(-moved));
			return;
		}
		done += (size_t)moved;
	}
}

static void move(int slot, uintptr_t at, void *buffer, size_t bytes, bool from_pin)
{
	while (bytes > 0) {
		size_t into = at - pins[slot].base, n = bytes < bounce_bytes ? bytes : bounce_bytes;
		bool whole;

		if (n > CHUNK - into % CHUNK)
			n = CHUNK - into % CHUNK;
		/* What fits into the empty pipe is taken and given in one call. */
		if (from_pin) {
			transfer(slot + (int)(into / CHUNK), at, n, IORING_OP_WRITE_FIXED);
			whole = read(bounce[0], buffer, n) == (ssize_t)n;
		} else {
			whole = write(bounce[1], buffer, n) == (ssize_t)n;
			transfer(slot + (int)(into / CHUNK), at, n, IORING_OP_READ_FIXED);
		}
		if (!whole)
			abort();
		at += n;
		buffer = (char *)buffer + n;
		bytes -= n;
	}
}

/* Without /proc, as in a minimal container: page protection is not bypassed. */
static ssize_t move_without_proc(uintptr_t at, void *buffer, size_t bytes, bool read)
{
	struct iovec here = { buffer, bytes }, there = { (void *)at, bytes };

	return read ? process_vm_readv(getpid(), &here, 1, &there, 1, 0)
		    : process_vm_writev(getpid(), &here, 1, &there, 1, 0);
}

/* Reads and writes of /proc/self/mem bypass page protection (FOLL_FORCE), as DMA does. */
static void soft_move(uintptr_t at, void *buffer, size_t bytes, bool read)
{
	if (self_mem < 0)
		self_mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	while (bytes > 0) {
		ssize_t n = self_mem < 0 ? move_without_proc(at, buffer, bytes, read)
			    : read       ? pread(self_mem, buffer, bytes, (off_t)at)
					 : pwrite(self_mem, buffer, bytes, (off_t)at);

		if (n <= 0) {
			fprintf(stderr, "standin: DMA met memory that is gone\n");
			if (read)
				memset(buffer, 0xDB, bytes);
			return;
		}
		at += (size_t)n;
		buffer = (char *)buffer + n;
		bytes -= (size_t)n;
	}
}

void pin_read(int slot, uintptr_t from, void *to, size_t bytes)
{
	if (slot < 0)
		soft_move(from, to, bytes, true);
	else
		move(slot, from, to, bytes, true);
}

void pin_write(int slot, uintptr_t to, const void *from, size_t bytes)
{
	if (slot < 0)
		soft_move(to, (void *)(uintptr_t)from, bytes, false);
	else
		move(slot, to, (void *)(uintptr_t)from, bytes, false);
}
