/*
 * libc.c - the allocation functions: large blocks from our heap, everything else straight on.
 *
 * Called before every constructor and from inside dlsym(): until the next definitions are known,
 * requests are served from a small static area that is never given back.
 */
#define _GNU_SOURCE
#include "shim/libc.h"
#include "host/heap.h"
#include "host/site.h"
#include "real/libc.h"
#include "shim/shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define unlikely(condition) __builtin_expect(condition, 0)

/* The smallest size that is ours; SIZE_MAX until shim_start(), and where the heap is off. */
static size_t heap_min = SIZE_MAX;

void shim_libc_use_heap(size_t bytes_min)
{
	heap_min = bytes_min != 0 ? bytes_min : SIZE_MAX;
}

static char early[32 << 10] __attribute__((aligned(16)));
static _Atomic size_t early_used;

static bool is_early(const void *address)
{
	return (size_t)((const char *)address - early) < sizeof(early);
}

static void *early_alloc(size_t bytes)
{
	size_t room = (bytes + 31) & ~(size_t)15; /* 16 bytes before each hold its size */
	size_t at = atomic_fetch_add(&early_used, room);

	if (room < bytes || at + room > sizeof(early)) {
		errno = ENOMEM;
		return NULL;
	}
	*(size_t *)(early + at) = bytes;
	return early + at + 16;
}

static size_t early_size(const void *address)
{
	return *(const size_t *)((const char *)address - 16);
}

/*
 * dlsym() may itself allocate (for its error text), in this thread: it then finds `finding` set and
 * is served early.
 */
bool shim_libc_find(void)
{
	static __thread bool finding __attribute__((tls_model("initial-exec")));

	if (finding || (shim_dlsym_next == NULL && shim_dlsym_find() == NULL))
		return false;
	finding = true;
#define LIBC(name)                  \
	if (real_libc.name == NULL) \
		real_libc.name = (__typeof__(name) *)shim_dlsym_next(RTLD_NEXT, #name);
#include "real/libc.def"
	finding = false;
	return true;
}

/* The site of the exported function that this is written in. */
#define SITE() site_of(__builtin_return_address(0), __builtin_frame_address(0))

/* A large block, or NULL where the next allocator has to serve it.  errno is untouched. */
static void *large(size_t bytes, size_t alignment, bool zeroed, uint32_t site)
{
	return bytes >= heap_min ? heap_alloc(bytes, alignment, zeroed, site) : NULL;
}

HP_EXPORT void *malloc(size_t bytes)
{
	if (unlikely(bytes >= heap_min)) {
		void *block = heap_alloc(bytes, 0, false, SITE());

		if (block != NULL)
			return block;
	}
	if (unlikely(real_libc.malloc == NULL) && !shim_libc_find())
		return early_alloc(bytes);
	return real_libc.malloc(bytes);
}

HP_EXPORT void free(void *address)
{
	if (unlikely(heap_owns(address)) && heap_free(address) == 0)
		return;
	if (unlikely(is_early(address)))
		return;
	if (unlikely(real_libc.free == NULL) && !shim_libc_find())
		return;
	/* An address that the heap does not know is the next allocator's to complain about. */
	real_libc.free(address);
}

HP_EXPORT void *calloc(size_t count, size_t each)
{
	size_t bytes;

	if (unlikely(__builtin_mul_overflow(count, each, &bytes))) {
		errno = ENOMEM;
		return NULL;
	}
	void *block = large(bytes, 0, true, SITE());
	if (block != NULL)
		return block;
	if (unlikely(real_libc.calloc == NULL) && !shim_libc_find())
		return early_alloc(bytes); /* static memory, zero from birth */
	return real_libc.calloc(count, each);
}

static size_t usable(void *address)
{
	size_t bytes = heap_owns(address) ? heap_usable(address) : 0;

	if (bytes != 0)
		return bytes;
	if (is_early(address))
		return early_size(address);
	if (unlikely(real_libc.malloc_usable_size == NULL) && !shim_libc_find())
		return 0;
	return real_libc.malloc_usable_size(address);
}

/* The contents move to a block from another allocator; `old` is given back. */
static void *move(void *old, size_t old_bytes, size_t bytes, uint32_t site)
{
	void *block = large(bytes, 0, false, site);

	if (block == NULL)
		block = malloc(bytes);
	if (block == NULL)
		return NULL;
	memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
	free(old);
	return block;
}

HP_EXPORT void *realloc(void *address, size_t bytes)
{
	if (address == NULL)
		return malloc(bytes);
	if (unlikely(heap_owns(address))) {
		size_t room = heap_usable(address);

		if (room != 0 && bytes == 0) { /* glibc frees */
			free(address);
			return NULL;
		}
		if (room != 0 && heap_resize(address, bytes))
			return address;
		if (room != 0) {
			void *moved = heap_move(address, bytes);

			return moved != NULL ? moved : move(address, room, bytes, SITE());
		}
	}
	if (unlikely(is_early(address)))
		return move(address, early_size(address), bytes, SITE());
	if (unlikely(bytes >= heap_min)) {
		/* Not where nobody can say how much of the old block there is. */
		size_t room = usable(address);
		void *block = room != 0 ? heap_alloc(bytes, 0, false, SITE()) : NULL;

		if (block != NULL) {
			memcpy(block, address, room < bytes ? room : bytes);
			free(address);
			return block;
		}
	}
	if (unlikely(real_libc.realloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.realloc(address, bytes);
}

HP_EXPORT void *reallocarray(void *address, size_t count, size_t each)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, each, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(address, bytes);
}

static bool power_of_two(size_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

HP_EXPORT void *memalign(size_t alignment, size_t bytes)
{
	void *block = power_of_two(alignment) ? large(bytes, alignment, false, SITE()) : NULL;

	if (block != NULL)
		return block;
	if (unlikely(real_libc.memalign == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.memalign(alignment, bytes);
}

HP_EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *block = power_of_two(alignment) ? large(bytes, alignment, false, SITE()) : NULL;

	if (block != NULL)
		return block;
	if (unlikely(real_libc.aligned_alloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.aligned_alloc(alignment, bytes);
}

HP_EXPORT int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	bool valid = power_of_two(alignment) && alignment % sizeof(void *) == 0;
	void *block = valid ? large(bytes, alignment, false, SITE()) : NULL;

	if (block != NULL) {
		*ret = block;
		return 0;
	}
	if (unlikely(real_libc.posix_memalign == NULL) && !shim_libc_find())
		return ENOMEM;
	return real_libc.posix_memalign(ret, alignment, bytes);
}

HP_EXPORT void *valloc(size_t bytes)
{
	void *block = large(bytes, (size_t)sysconf(_SC_PAGESIZE), false, SITE());

	if (block != NULL)
		return block;
	if (unlikely(real_libc.valloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.valloc(bytes);
}

HP_EXPORT void *pvalloc(size_t bytes)
{
	void *block = large(bytes, (size_t)sysconf(_SC_PAGESIZE), false, SITE());

	if (block != NULL)
		return block;
	if (unlikely(real_libc.pvalloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.pvalloc(bytes);
}

HP_EXPORT size_t malloc_usable_size(void *address)
{
	return address != NULL ? usable(address) : 0;
}
