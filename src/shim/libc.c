/*
 * libc.c - the allocation functions: large blocks from our heap, everything else straight on.
 *
 * Called before every constructor and from inside dlsym(): until the next definitions are known,
 * requests are served from a small static area that is never given back.
 *
 * What is small passes through without a frame of its own: a compare and a jump.  The rest of each
 * function is therefore in another one.
 */
#define _GNU_SOURCE
#include "shim/libc.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/log.h"
#include "base/protections.h"
#include "defer/protect.h"
#include "host/heap.h"
#include "host/site.h"
#include "real/libc.h"
#include "shim/front.h"
#include "shim/shim.h"
#include "trace/trace.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define unlikely(condition) __builtin_expect(condition, 0)
#define apart               __attribute__((noinline))

/* Who called the exported function that this is written in. */
#define CALLER()            __builtin_return_address(0)

static void *malloc_first(size_t bytes);
static void *calloc_first(size_t count, size_t each);
static void free_first(void *address);
static void free_not_early(void *address);

/*
 * What every call reads, with heap_owns()'s words behind it.  A read waits for the write before it
 * whose address has the same low 12 bits, above all for a lock's, and glibc's arenas but for one
 * begin at such addresses: their locks at 0x30, then their bins.  Here they have the last of those,
 * of blocks that are ours.
 */
static struct {
	char room[0x840];
	_Atomic size_t heap_min; /* the smallest that is ours; SIZE_MAX: none, see shim_start() */

	/*
	 * Where small ones go.  Not at once to real_libc's, which would have to be looked at
	 * before; and nobody has to ask whether an address is early where none ever was.
	 */
	void *(*_Atomic malloc_next)(size_t bytes);
	void *(*_Atomic calloc_next)(size_t count, size_t each);
	void (*_Atomic free_next)(void *address);
} front HEAP_OFTEN_READ __attribute__((aligned(HP_PAGE_BYTES))) = {
	.heap_min = SIZE_MAX,
	.malloc_next = malloc_first,
	.calloc_next = calloc_first,
	.free_next = free_first,
};

#define NEXT(name) atomic_load_explicit(&front.name##_next, memory_order_relaxed)

/* Nothing is ours any more, whatever shim_start() says. */
static _Atomic bool shut;

static size_t least(void)
{
	return atomic_load_explicit(&front.heap_min, memory_order_relaxed);
}

/*
 * Do our blocks come back to us?  A program, or a library in front of us, with an allocator of its
 * own would be given them by what it does not define itself: posix_memalign() here, free() there.
 * With one behind us the program may know which, and use functions that only that one has on what
 * it got from malloc(): jemalloc's sdallocx(), tc_free(), mi_free().
 */
static bool come_back(void)
{
	static const char *const names[] = { "free", "realloc", "malloc_usable_size" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!shim_front_is_ours(names[i]))
			return false;
	return shim_libc_find() && shim_front_is_libcs((const void *)real_libc.malloc) &&
	       shim_front_is_libcs((const void *)real_libc.free);
}

void shim_libc_use_heap(size_t bytes_min)
{
	if (bytes_min == 0)
		return;
	if (!come_back()) {
		hp_info("another malloc() serves the program: its buffers are staged, not pinned");
		return;
	}
	atomic_store(&front.heap_min, bytes_min);
	if (atomic_load(&shut))
		atomic_store(&front.heap_min, SIZE_MAX);
}

void shim_libc_use_heap_from(size_t bytes_min)
{
	size_t before = least();

	/* Whoever shuts meanwhile has the last word. */
	while (before != SIZE_MAX &&
	       !atomic_compare_exchange_weak(&front.heap_min, &before, bytes_min))
		continue;
}

void shim_libc_shut(const char *why)
{
	atomic_store(&shut, true);
	if (atomic_exchange(&front.heap_min, SIZE_MAX) == SIZE_MAX)
		return;
	hp_count(heap_shut);
	hp_info("%s: no more buffers are pinned, as it could free them past us", why);
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
	atomic_store(&front.free_next, free_not_early);
	*(size_t *)(early + at) = bytes;
	return early + at + 16;
}

static size_t early_size(const void *address)
{
	return *(const size_t *)((const char *)address - 16);
}

/*
 * What a program would be bound to behind us.  dlsym() passes over what has old versions of its
 * functions only, as libc_malloc_debug.so does; dlvsym() over what has no versions, as all others.
 */
static void *find_next(const char *name, const char *version)
{
	void *found = shim_dlsym_next(RTLD_NEXT, name);
	void *versioned = dlvsym(RTLD_NEXT, name, version);

	if (versioned == NULL || versioned == found || !shim_front_is_libcs(found))
		return found;
	return versioned;
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
#define LIBC(name, version)         \
	if (real_libc.name == NULL) \
		real_libc.name = (__typeof__(name) *)find_next(#name, "GLIBC_" #version);
#include "real/libc.def"
	finding = false;

	void (*first)(void *) = free_first;
	atomic_store(&front.malloc_next, real_libc.malloc);
	atomic_store(&front.calloc_next, real_libc.calloc);
	atomic_compare_exchange_strong(&front.free_next, &first, real_libc.free);
	shim_watch_forks();
	return true;
}

/*
 * glibc learns from large blocks that are freed: up to the largest of them, 32 MiB at most, it no
 * longer maps blocks one by one, and it trims its heap at twice as much (mallopt(3),
 * M_MMAP_THRESHOLD).  What we serve would have taught it that.  Without it every buffer of 128 KiB
 * to HOTPIN_HEAP_MIN would be mapped and faulted in anew.
 *
 * It learns when a block that it has mapped is freed.  To allocate one it first joins all its small
 * free blocks: at a program's end, when it frees everything, that took perl a seventh of its time.
 * So one is asked for where ours is, when glibc would have done so, too, and made as long as the
 * lesson is when that is due, which is a system call.
 */
#define LESSON_LEAST ((size_t)256 << 10)
#define LESSON_MOST  ((size_t)32 << 20)

static _Atomic size_t taught;          /* a power of two */
static void *_Atomic lesson_of_mapped; /* glibc's block, for the next lesson */

static apart void prepare_lesson(void)
{
	size_t before = atomic_load(&taught);
	void *none = NULL, *block;
	int saved = errno;

	block = real_libc.malloc(before < LESSON_LEAST ? LESSON_LEAST : 2 * before);
	if (!atomic_compare_exchange_strong(&lesson_of_mapped, &none, block))
		real_libc.free(block);
	errno = saved;
}

void shim_libc_close_heap(void)
{
	int saved = errno;

	heap_close();
	void *block = atomic_exchange(&lesson_of_mapped, NULL);
	if (block != NULL)
		real_libc.free(block);
	errno = saved;
}

static apart void teach_next(void)
{
	size_t most = atomic_load_explicit(&heap_freed_most, memory_order_relaxed);
	size_t lesson = LESSON_MOST;

	while (lesson > most)
		lesson /= 2;
	if (lesson <= atomic_load(&taught))
		return;
	void *block = atomic_exchange(&lesson_of_mapped, NULL), *longer;
	if (block == NULL)
		return;
	int saved = errno;
	atomic_store(&taught, lesson);
	longer = real_libc.realloc(block, lesson);
	real_libc.free(longer != NULL ? longer : block);
	errno = saved;
}

/*
 * A large block for `caller`, or NULL where the next allocator has to serve it.  errno is
 * untouched.
 */
static void *large(size_t bytes, size_t alignment, bool zeroed, const void *caller)
{
	if (bytes < least())
		return NULL;
	uint32_t site = site_of(caller, __builtin_frame_address(0));

	trace_allocated(site, caller, __builtin_frame_address(0));
	void *block = heap_alloc(bytes, alignment, zeroed, site);
	if (unlikely(atomic_load_explicit(&lesson_of_mapped, memory_order_relaxed) == NULL &&
		     atomic_load_explicit(&taught, memory_order_relaxed) < LESSON_MOST &&
		     block != NULL))
		prepare_lesson();
	return block;
}

static void *malloc_first(size_t bytes)
{
	return shim_libc_find() ? real_libc.malloc(bytes) : early_alloc(bytes);
}

static apart void *malloc_large(size_t bytes, const void *caller)
{
	void *block = large(bytes, 0, false, caller);

	return block != NULL ? block : NEXT(malloc)(bytes);
}

HP_EXPORT void *malloc(size_t bytes)
{
	if (unlikely(bytes >= least()))
		return malloc_large(bytes, CALLER());
	return NEXT(malloc)(bytes);
}

/*
 * Every glibc, as far as from 2.31 to 2.42, looks whether what it is given is aligned before it
 * believes what stands in front of it; it then says "invalid pointer" and aborts.  Given the real
 * address it would take a neighbour's bytes for its own header, and may unmap what they say.
 */
static char nobodys[64] __attribute__((aligned(16)));
#define MISALIGNED ((void *)(nobodys + 24))

/*
 * What the next allocator is to see of an address in the heap's range that is not the start of a
 * block in use.
 */
static void *stranger(const char *function, void *address)
{
	if (!heap_holds(address))
		return address;
	hp_error("%s(%p): not the start of a block in use: freed twice?  a fault of the program's, "
		 "without hotpin too",
		 function, address);
	return MISALIGNED;
}

/* Gives back what lies in the heap's range.  Returns what the next is to free. */
static apart void *free_ours(void *address)
{
	if (hp_keeps(fetched_freed))
		protect_join_range(address, 1);
	if (heap_free(address) != 0)
		return stranger("free", address);
	shim_freed();
	if (unlikely(atomic_load_explicit(&heap_freed_most, memory_order_relaxed) / 2 >=
			     atomic_load_explicit(&taught, memory_order_relaxed) &&
		     atomic_load_explicit(&taught, memory_order_relaxed) < LESSON_MOST))
		teach_next();
	return NULL;
}

static void free_not_early(void *address)
{
	if (!is_early(address) && (real_libc.free != NULL || shim_libc_find()))
		real_libc.free(address);
}

static void free_first(void *address)
{
	free_not_early(address);
}

HP_EXPORT void free(void *address)
{
	if (unlikely(heap_owns(address)))
		address = free_ours(address);
	NEXT(free)(address);
}

/* Other names of free().  The first is how one that stands in front of free() goes on. */
HP_EXPORT void __libc_free(void *address)
{
	if (heap_owns(address))
		address = free_ours(address);
	if (is_early(address))
		return;
	if (real_libc.__libc_free != NULL || (shim_libc_find() && real_libc.__libc_free != NULL))
		real_libc.__libc_free(address);
}

HP_EXPORT void cfree(void *address)
{
	free(address);
}

HP_EXPORT void free_sized(void *address, size_t bytes)
{
	(void)bytes;
	free(address);
}

HP_EXPORT void free_aligned_sized(void *address, size_t alignment, size_t bytes)
{
	(void)alignment, (void)bytes;
	free(address);
}

static void *calloc_first(size_t count, size_t each)
{
	/* Static memory is zero from birth. */
	return shim_libc_find() ? real_libc.calloc(count, each) : early_alloc(count * each);
}

static apart void *calloc_large(size_t count, size_t each, const void *caller)
{
	void *block = large(count * each, 0, true, caller);

	return block != NULL ? block : NEXT(calloc)(count, each);
}

static apart void *refuse(void)
{
	errno = ENOMEM;
	return NULL;
}

HP_EXPORT void *calloc(size_t count, size_t each)
{
	size_t bytes;

	if (unlikely(__builtin_mul_overflow(count, each, &bytes)))
		return refuse();
	if (unlikely(bytes >= least()))
		return calloc_large(count, each, CALLER());
	return NEXT(calloc)(count, each);
}

static size_t usable(void *address)
{
	if (unlikely(heap_owns(address))) {
		size_t bytes = heap_usable(address);

		if (bytes != 0 || heap_holds(address))
			return bytes;
	}
	if (is_early(address))
		return early_size(address);
	if (unlikely(real_libc.malloc_usable_size == NULL) && !shim_libc_find())
		return 0;
	return real_libc.malloc_usable_size(address);
}

HP_EXPORT size_t malloc_usable_size(void *address)
{
	return address != NULL ? usable(address) : 0;
}

/* What is pinned and free goes back later, as always: the device has to be idle for that. */
HP_EXPORT int malloc_trim(size_t pad)
{
	bool ours = heap_trim(pad);

	if (unlikely(real_libc.malloc_trim == NULL) && !shim_libc_find())
		return ours;
	return real_libc.malloc_trim(pad) != 0 || ours;
}

/* The contents move to a block from another allocator; `old` is given back. */
static void *move(void *old, size_t old_bytes, size_t bytes, const void *caller)
{
	void *block = malloc_large(bytes, caller);

	if (block == NULL)
		return NULL;
	memcpy(block, old, old_bytes < bytes ? old_bytes : bytes);
	free(old);
	return block;
}

/*
 * For a block of ours in use, of which `room` bytes can be.  Where the heap is off it is better off
 * elsewhere.
 */
static void *realloc_ours(void *address, size_t room, size_t bytes, const void *caller)
{
	bool may_stay = least() != SIZE_MAX;
	void *moved = NULL;

	protect_join_range(address, 1);
	if (bytes == 0) { /* glibc frees */
		free(address);
		return NULL;
	}
	if (may_stay && heap_resize(address, bytes))
		return address;
	if (may_stay)
		moved = heap_move(address, bytes);
	if (moved == NULL)
		moved = move(address, room, bytes, caller);
	return moved == NULL && !may_stay && heap_resize(address, bytes) ? address : moved;
}

typedef void *(*realloc_fn)(void *address, size_t bytes);

/* All that the next allocator is not alone with.  Its own function is, or will be, in *next. */
static apart void *realloc_odd(void *address, size_t bytes, const void *caller,
			       const realloc_fn *next)
{
	size_t room = heap_owns(address) ? heap_usable(address) : 0;

	if (address == NULL)
		return malloc_large(bytes, caller);
	if (room != 0)
		return realloc_ours(address, room, bytes, caller);
	if (is_early(address))
		return move(address, early_size(address), bytes, caller);
	if (heap_owns(address))
		address = stranger("realloc", address);
	if (bytes >= least()) {
		/* Not where nobody can say how much of the old block there is. */
		room = usable(address);
		void *block = room != 0 ? large(bytes, 0, false, caller) : NULL;

		if (block != NULL) {
			memcpy(block, address, room < bytes ? room : bytes);
			free(address);
			return block;
		}
	}
	if (*next == NULL && !shim_libc_find())
		return NULL;
	return (*next)(address, bytes);
}

static bool is_ours(const void *address)
{
	return heap_owns(address) || is_early(address);
}

HP_EXPORT void *realloc(void *address, size_t bytes)
{
	if (unlikely(bytes >= least() || is_ours(address) || real_libc.realloc == NULL))
		return realloc_odd(address, bytes, CALLER(), &real_libc.realloc);
	return real_libc.realloc(address, bytes);
}

HP_EXPORT void *__libc_realloc(void *address, size_t bytes)
{
	if (is_ours(address) || real_libc.__libc_realloc == NULL)
		return realloc_odd(address, bytes, CALLER(), &real_libc.__libc_realloc);
	return real_libc.__libc_realloc(address, bytes);
}

static bool power_of_two(size_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

HP_EXPORT void *memalign(size_t alignment, size_t bytes)
{
	void *block = power_of_two(alignment) ? large(bytes, alignment, false, CALLER()) : NULL;

	if (block != NULL)
		return block;
	if (unlikely(real_libc.memalign == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.memalign(alignment, bytes);
}

HP_EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *block = power_of_two(alignment) ? large(bytes, alignment, false, CALLER()) : NULL;

	if (block != NULL)
		return block;
	if (unlikely(real_libc.aligned_alloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.aligned_alloc(alignment, bytes);
}

HP_EXPORT int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	bool valid = power_of_two(alignment) && alignment % sizeof(void *) == 0;
	void *block = valid ? large(bytes, alignment, false, CALLER()) : NULL;

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
	void *block = large(bytes, (size_t)sysconf(_SC_PAGESIZE), false, CALLER());

	if (block != NULL)
		return block;
	if (unlikely(real_libc.valloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.valloc(bytes);
}

HP_EXPORT void *pvalloc(size_t bytes)
{
	void *block = large(bytes, (size_t)sysconf(_SC_PAGESIZE), false, CALLER());

	if (block != NULL)
		return block;
	if (unlikely(real_libc.pvalloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.pvalloc(bytes);
}
