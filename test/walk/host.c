/*
 * host.c - steps with host memory of every kind: allocation, release, and accesses by the program.
 */
#include "walk.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char in_data[64 * KIB] = { 1 }, in_bss[512 * KIB], more_bss[20000];

static struct {
	char *at;
	size_t bytes;
	bool taken;
} statics[] = {
	{ in_data, sizeof(in_data), false },
	{ in_bss, sizeof(in_bss), false },
	{ more_bss, sizeof(more_bss), false },
};
#define STATICS (sizeof(statics) / sizeof(*statics))

struct buffer *some_host(void)
{
	/* Many steps in succession affect the same buffer. */
	size_t slot = one_in(2) ? p.favorite : below(HOSTS);

	for (size_t i = 0; i < HOSTS; i++) {
		p.favorite = (slot + i) % HOSTS;
		if (p.host[p.favorite].where != W_NOWHERE)
			return &p.host[p.favorite];
	}
	return NULL;
}

static bool is_pageable(const struct buffer *buffer)
{
	return buffer->where != W_PINNED && buffer->where != W_MANAGED;
}

static void *by_malloc(size_t bytes, bool *ret_zero)
{
	*ret_zero = one_in(4);
	if (*ret_zero)
		return one_in(2) ? calloc(1, bytes) : calloc(bytes, 1);
	if (!one_in(3))
		return malloc(bytes);
	return one_in(2) ? realloc(NULL, bytes) : reallocarray(NULL, bytes, 1);
}

static void *by_memalign(size_t bytes)
{
	size_t align = PAGE << below(3);
	void *at = NULL;

	switch (below(4)) {
	case 0:
		return memalign(align, bytes);
	case 1:
		return aligned_alloc(align, (bytes + align - 1) / align * align);
	case 2:
		return posix_memalign(&at, align, bytes) == 0 ? at : NULL;
	default:
		return valloc(bytes);
	}
}

/* `*ret_mapped` is 0 if the pages are a file's. */
static void *by_mmap(size_t bytes, size_t *ret_mapped, bool *ret_zero)
{
	size_t length = (bytes + PAGE - 1) / PAGE * PAGE;
	int fd = -1, flags = MAP_PRIVATE;
	void *at;

	*ret_mapped = length;
	*ret_zero = true;
	if (one_in(3)) {
		fd = memfd_create("walk", MFD_CLOEXEC);
		flags = one_in(2) ? MAP_SHARED : MAP_PRIVATE;
		if (fd < 0 || ftruncate(fd, (off_t)length) != 0)
			fail("memfd");
		*ret_mapped = 0;
	} else {
		flags |= MAP_ANONYMOUS;
	}
	at = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (fd >= 0)
		close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static bool new_pinned(struct buffer *b)
{
	static const unsigned flags[] = { 0, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP };
	CUresult rc;

	if (p.frozen)
		return false;
	if (one_in(2))
		rc = SAY(cu[0].cuMemAllocHost_v2((void **)&b->at, b->bytes),
			 "h%d = cuMemAllocHost(%zu)", b->number, b->bytes);
	else
		rc = SAY(cu[0].cuMemHostAlloc((void **)&b->at, b->bytes, flags[below(3)]),
			 "h%d = cuMemHostAlloc(%zu)", b->number, b->bytes);
	b->context = my_context();
	return rc == CUDA_SUCCESS;
}

static bool new_managed(struct buffer *b)
{
	CUdeviceptr at;

	if (p.frozen)
		return false;
	if (SAY(cu[0].cuMemAllocManaged(&at, b->bytes, CU_MEM_ATTACH_GLOBAL),
		"h%d = cuMemAllocManaged(%zu)", b->number, b->bytes) != CUDA_SUCCESS)
		return false;
	b->at = (char *)at;
	b->context = my_context();
	return true;
}

static bool new_static(struct buffer *b)
{
	size_t which = below(STATICS);

	if (statics[which].taken)
		return false;
	statics[which].taken = true;
	b->at = statics[which].at;
	b->bytes = statics[which].bytes;
	b->defined = true;
	fill(b->at, b->bytes, draw());
	note("h%d is static, %zu", b->number, b->bytes);
	return true;
}

static void host_new(struct buffer *b)
{
	static const enum where kinds[] = {
		W_MALLOC,  W_MALLOC,  W_MALLOC, W_MALLOC, W_MALLOC, W_MALLOC, W_ALIGNED,
		W_ALIGNED, W_ALIGNED, W_MAPPED, W_MAPPED, W_STATIC, W_STATIC, W_PINNED,
	};
	enum where where = kinds[below(sizeof(kinds) / sizeof(*kinds))];
	unsigned generation = b->generation;
	bool zero = false, got = true;

	*b = (struct buffer){ .host = true, .number = b->number, .bytes = buffer_size() };
	b->generation = generation + 1;
	if (where == W_PINNED && one_in(8) && p.calls_back)
		where = W_MANAGED;
	if (where == W_PINNED && !p.pins)
		where = W_MALLOC;
	switch (where) {
	case W_MALLOC:
		b->at = by_malloc(b->bytes, &zero);
		note("h%d = malloc(%zu)%s", b->number, b->bytes, zero ? ", zeroed" : "");
		break;
	case W_ALIGNED:
		b->at = by_memalign(b->bytes);
		note("h%d = memalign(%zu)", b->number, b->bytes);
		break;
	case W_MAPPED:
		b->at = by_mmap(b->bytes, &b->mapped, &zero);
		note("h%d = mmap(%zu)%s", b->number, b->bytes, b->mapped ? "" : " of a file");
		break;
	case W_STATIC:
		got = new_static(b);
		break;
	case W_PINNED:
		got = new_pinned(b);
		break;
	default:
		got = new_managed(b);
		break;
	}
	if (!got)
		return;
	if (b->at == NULL)
		fail("out of memory");
	b->where = where;
	/* Zeroed memory is read now, or stays untouched until a copy. */
	if (zero) {
		b->defined = true;
		if (one_in(2))
			look(b, 0, b->bytes);
	}
	if (!zero && !one_in(3))
		buffer_define(b, 0, 0, false);
}

/* Waits for all work in flight that accesses the buffer. */
void host_drop(struct buffer *b)
{
	if (!buffer_idle(b))
		return;
	if (b->pin_hi != 0) {
		bool other = b->pin_context != my_context();

		if (p.frozen)
			return;
		if (other)
			cu[0].cuCtxPushCurrent_v2(p.context[b->pin_context]);
		SAY(cu[0].cuMemHostUnregister(b->at + b->pin_lo), "cuMemHostUnregister(h%d+%zu)",
		    b->number, b->pin_lo);
		if (other)
			cu[0].cuCtxPopCurrent_v2(&(CUcontext){ NULL });
	}
	switch (b->where) {
	case W_MALLOC:
	case W_ALIGNED:
		errno = 77;
		free(b->at);
		tell((uint64_t)errno);
		note("free(h%d)", b->number);
		break;
	case W_MAPPED:
		SAYS(munmap(b->at, (b->bytes + PAGE - 1) / PAGE * PAGE), "munmap(h%d)", b->number);
		break;
	case W_STATIC:
		for (size_t i = 0; i < STATICS; i++)
			if (statics[i].at == b->at)
				statics[i].taken = false;
		break;
	default:
		if (p.frozen)
			return;
		if (b->context != my_context())
			cu[0].cuCtxPushCurrent_v2(p.context[b->context]);
		if (b->where == W_PINNED)
			SAY(cu[0].cuMemFreeHost(b->at), "cuMemFreeHost(h%d)", b->number);
		else
			SAY(cu[0].cuMemFree_v2((CUdeviceptr)b->at), "cuMemFree(h%d)", b->number);
		if (b->context != my_context())
			cu[0].cuCtxPopCurrent_v2(&(CUcontext){ NULL });
		break;
	}
	b->where = W_NOWHERE;
	b->pin_hi = 0;
	b->accesses = 0;
}

void step_host_new(void)
{
	struct buffer *b = &p.host[below(HOSTS)];

	if (b->where != W_NOWHERE && one_in(2))
		host_drop(b);
	if (b->where == W_NOWHERE)
		host_new(b);
}

void step_host_free(void)
{
	struct buffer *b = some_host();

	if (b != NULL)
		host_drop(b);
}

void step_host_realloc(void)
{
	struct buffer *b = some_host();
	size_t bytes = buffer_size();

	if (b == NULL || b->where != W_MALLOC || b->pin_hi != 0 || !buffer_idle(b))
		return;
	char *at = realloc(b->at, bytes);
	if (at == NULL)
		fail("out of memory");
	note("h%d = realloc(h%d, %zu)", b->number, b->number, bytes);
	if (bytes > b->bytes && b->defined)
		fill(at + b->bytes, bytes - b->bytes, draw());
	b->at = at;
	b->bytes = bytes;
	b->generation++;
	b->accesses = 0;
}

void step_host_write(void)
{
	struct buffer *b = some_host();
	size_t lo, hi;

	if (b == NULL)
		return;
	some_range(b, &lo, &hi);
	if (one_in(2) && hi - lo > 16 * KIB)
		hi = lo + 16 * KIB;
	if (!host_may(b, lo, hi, true))
		return;
	buffer_define(b, lo, hi, true);
	fill(b->at + lo, hi - lo, draw());
	note("h%d[%zu, %zu) is written", b->number, lo, hi);
}

void step_host_read(void)
{
	struct buffer *b = some_host();
	size_t lo, hi;

	if (b == NULL)
		return;
	some_range(b, &lo, &hi);
	buffer_define(b, 0, 0, false);
	if (host_may(b, lo, hi, false))
		look(b, lo, hi);
}

void step_host_move(void)
{
	struct buffer *from = some_host(), *to = some_host();
	size_t lo, hi, at;

	if (from == NULL || to == NULL)
		return;
	some_range(from, &lo, &hi);
	if (hi - lo > to->bytes)
		hi = lo + to->bytes;
	at = below(to->bytes - (hi - lo) + 1);
	buffer_define(from, 0, 0, false);
	if (!host_may(from, lo, hi, false) || !host_may(to, at, at + hi - lo, true))
		return;
	buffer_define(to, at, at + hi - lo, from != to);
	memmove(to->at + at, from->at + lo, hi - lo);
	note("memmove(h%d+%zu, h%d+%zu, %zu)", to->number, at, from->number, lo, hi - lo);
}

/* Drops or replaces pages of memory from malloc() or mmap(). */
void step_host_pages(void)
{
	struct buffer *b = some_host();
	size_t pages, first, count;

	if (b == NULL || b->pin_hi != 0 || b->bytes < 2 * PAGE ||
	    !(b->where == W_ALIGNED || (b->where == W_MAPPED && b->mapped != 0)) || !buffer_idle(b))
		return;
	buffer_define(b, 0, 0, false);
	pages = b->bytes / PAGE;
	first = below(pages);
	count = 1 + below(pages - first);
	switch (below(b->where == W_MAPPED ? 6 : 4)) {
	case 0:
	case 1:
		SAYS(madvise(b->at + first * PAGE, count * PAGE, MADV_DONTNEED),
		     "madvise(h%d+%zu, %zu, MADV_DONTNEED)", b->number, first * PAGE, count * PAGE);
		break;
	case 2:
		SAYS(mprotect(b->at + first * PAGE, count * PAGE, PROT_READ),
		     "mprotect(h%d+%zu, %zu, PROT_READ)", b->number, first * PAGE, count * PAGE);
		look(b, first * PAGE, (first + count) * PAGE);
		SAYS(mprotect(b->at + first * PAGE, count * PAGE, PROT_READ | PROT_WRITE),
		     "mprotect(h%d+%zu, %zu, PROT_READ | PROT_WRITE)", b->number, first * PAGE,
		     count * PAGE);
		break;
	case 3:
		if (mmap(b->at + first * PAGE, count * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			fail("mmap");
		b->pieces = true;
		note("mmap(h%d+%zu, %zu, MAP_FIXED)", b->number, first * PAGE, count * PAGE);
		break;
	case 4:
		/* The end of the buffer is unmapped. */
		if (first == 0)
			break;
		SAYS(munmap(b->at + first * PAGE, b->mapped - first * PAGE), "munmap(h%d+%zu, ...)",
		     b->number, first * PAGE);
		b->bytes = b->mapped = first * PAGE;
		b->generation++;
		break;
	default: {
		if (b->pieces)
			break;
		void *at = mremap(b->at, b->mapped, b->mapped + count * PAGE, MREMAP_MAYMOVE);

		if (at == MAP_FAILED)
			fail("mremap");
		note("mremap(h%d, %zu)", b->number, b->mapped + count * PAGE);
		b->at = at;
		b->mapped += count * PAGE;
		fill(b->at + b->bytes, b->mapped - b->bytes, draw());
		b->bytes = b->mapped;
		b->generation++;
		break;
	}
	}
	b->accesses = 0;
}

void step_host_register(void)
{
	static const unsigned flags[] = { 0,
					  CU_MEMHOSTREGISTER_PORTABLE |
						  CU_MEMHOSTREGISTER_DEVICEMAP,
					  CU_MEMHOSTREGISTER_DEVICEMAP };
	struct buffer *b = some_host();
	size_t lo, hi;

	if (b == NULL || !is_pageable(b) || p.frozen || !p.pins || !buffer_idle(b) ||
	    (b->where == W_MAPPED && b->mapped == 0))
		return;
	buffer_define(b, 0, 0, false);
	if (b->pin_hi != 0) {
		if (one_in(4)) {
			SAY(cu[0].cuMemHostRegister_v2(b->at, b->bytes, 0),
			    "cuMemHostRegister(h%d again)", b->number);
			return;
		}
		if (b->pin_context != my_context())
			return;
		SAY(cu[0].cuMemHostUnregister(b->at + b->pin_lo), "cuMemHostUnregister(h%d+%zu)",
		    b->number, b->pin_lo);
		b->pin_hi = 0;
		b->generation++;
		return;
	}
	if (one_in(4)) {
		SAY(cu[0].cuMemHostUnregister(b->at), "cuMemHostUnregister(h%d)", b->number);
		return;
	}
	some_range(b, &lo, &hi);
	if (SAY(cu[0].cuMemHostRegister_v2(b->at + lo, hi - lo, flags[below(3)]),
		"cuMemHostRegister(h%d+%zu, %zu)", b->number, lo, hi - lo) != CUDA_SUCCESS)
		return;
	b->pin_lo = lo;
	b->pin_hi = hi;
	b->pin_context = my_context();
	b->generation++;
}
