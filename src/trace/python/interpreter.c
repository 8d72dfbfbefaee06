/*
 * interpreter.c - finds the interpreter's data by its exported symbols, and a thread's data by a
 * thread key.
 *
 * CPython stores the state of each thread under a pthread key, and clears the key's value before it
 * frees the state.  So the key leads to valid memory, no matter which thread holds the
 * interpreter's lock.  No symbol names the key: it is the key whose value names the calling thread
 * and leads to its frames.
 *
 * A read through the kernel takes 0.3 us for each field, too much for each copy.  So hotpin asks
 * the kernel once for each page that a thread reads.  The interpreter does not free the frames of a
 * running thread.
 */
#define _GNU_SOURCE
#include "trace/python/interpreter.h"
#include "base/hash.h"
#include "base/kernel.h"
#include "trace/thread_memory.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define ADDRESS_LEAST 65536
#define PAGE_BITS     12
#define SETS_BITS     5 /* of two pages each */
#define BLOCK_BITS    8
#define BLOCKS_BITS   6
#define NO_KEY        (-1)

/* Constant once `is_found`. */
static struct python python;
static _Atomic bool is_found, is_unreadable;
static _Atomic int key = NO_KEY;

#define TAKEN (-1)

/* Threads that run Python.  A thread writes the entry that it takes; any thread reads. */
static struct {
	_Atomic pid_t tid; /* 0: free; TAKEN: being written */
	_Atomic uintptr_t state, self;
} threads[INTERPRETER_THREADS_MOST];

static _Atomic bool looking;          /* a thread looks for the key; any thread */
static unsigned long long loads_seen; /* used by the thread that is looking */

static __thread struct {
	uintptr_t state;      /* for which the pages were checked */
	uintptr_t (*page)[2]; /* 1 << SETS_BITS of them; NULL: none yet */
} checked __attribute__((tls_model("initial-exec")));

static struct thread_memory pages = { .bytes = sizeof(checked.page[0]) << SETS_BITS };

static bool check_page(uintptr_t number)
{
	if (checked.page == NULL) {
		checked.page = thread_memory_take(&pages);
		if (checked.page == NULL)
			return hp_can_read((const void *)(number << PAGE_BITS));
		memset(checked.page, 0, pages.bytes);
	}
	uintptr_t *set = checked.page[hp_hash(number, SETS_BITS)];

	if (set[0] == number || set[1] == number)
		return true;
	if (!hp_can_read((const void *)(number << PAGE_BITS)))
		return false;
	set[1] = set[0];
	set[0] = number;
	return true;
}

/* A python_read.  The memory may belong to any code, so AddressSanitizer is off. */
__attribute__((no_sanitize("address"))) static bool read_own(uintptr_t from, void *to, size_t bytes)
{
	uintptr_t first_page = from >> PAGE_BITS, last_page = (from + bytes - 1) >> PAGE_BITS;

	if (from < ADDRESS_LEAST || last_page < first_page || !check_page(first_page) ||
	    (last_page != first_page && !check_page(last_page)))
		return false;
	size_t i = 0;
	for (; from % sizeof(uintptr_t) == 0 && i + sizeof(uintptr_t) <= bytes;
	     i += sizeof(uintptr_t)) {
		uintptr_t word = *(const volatile uintptr_t *)(from + i);

		memcpy((char *)to + i, &word, sizeof(word));
	}
	for (; i < bytes; i++)
		((volatile char *)to)[i] = ((const volatile char *)from)[i];
	return true;
}

/* Writes the number of loads since the process began. */
static int note_loads(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes;
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1;
}

static int note_library(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	char *path = arg;
	int length = 0;

	(void)bytes;
	if (info->dlpi_name != NULL && strstr(info->dlpi_name, "/libpython3.") != NULL)
		length = snprintf(path, PATH_MAX, "%s", info->dlpi_name);
	return length > 0 && length < PATH_MAX;
}

/* That of the program or of a library that it links; NULL: there is none. */
extern const char _PyRuntime[] __attribute__((weak));

/*
 * Opens the program and its linked libraries, or a library that was loaded later.  A search that
 * fails would allocate memory and replace the program's dlerror().
 */
static void *open_interpreter(void)
{
	char path[PATH_MAX];

	if (_PyRuntime != NULL)
		return dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	if (dl_iterate_phdr(note_library, path) == 0)
		return NULL;
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

static bool find_layout(void *library, struct python_layout *ret)
{
	const unsigned long *version = dlsym(library, "Py_Version");
	const uint64_t *runtime = dlsym(library, "_PyRuntime");

	/* The version number is exported from 3.11 on. */
	if (runtime == NULL || version == NULL)
		return false;
	return python_layout_of((uint32_t)*version, ret) || python_layout_from(runtime, ret);
}

static void find_interpreter(void)
{
	struct python found = { .read = read_own };
	void *library = open_interpreter();

	if (library == NULL)
		return;
	if (!find_layout(library, &found.layout)) {
		atomic_store(&is_unreadable, true);
		return;
	}
	found.runtime = (uintptr_t)dlsym(library, "_PyRuntime");
	found.code_type = (uintptr_t)dlsym(library, "PyCode_Type");
	found.text_type = (uintptr_t)dlsym(library, "PyUnicode_Type");
	found.bytes_type = (uintptr_t)dlsym(library, "PyBytes_Type");
	if (found.code_type == 0 || found.text_type == 0 || found.bytes_type == 0)
		return;
	/* The handle stays open, so the library stays loaded. */
	python = found;
	atomic_store_explicit(&is_found, true, memory_order_release);
}

static void find_key(void)
{
	struct python_frame frame;

	for (unsigned at = 0; at < PTHREAD_KEYS_MAX; at++) {
		uintptr_t state = (uintptr_t)pthread_getspecific((pthread_key_t)at);

		if (state % sizeof(uintptr_t) != 0 ||
		    !python_is_thread(&python, state, (uintptr_t)pthread_self()) ||
		    python_frames(&python, state, 1, &frame) == 0)
			continue;
		atomic_store(&key, (int)at);
		return;
	}
}

void interpreter_look(void)
{
	unsigned long long loads = 0;

	if (atomic_load_explicit(&key, memory_order_relaxed) != NO_KEY ||
	    atomic_exchange(&looking, true))
		return;
	if (!atomic_load(&is_found)) {
		dl_iterate_phdr(note_loads, &loads);
		if (loads != loads_seen)
			find_interpreter();
		loads_seen = loads;
	}
	if (atomic_load(&is_found))
		find_key();
	atomic_store(&looking, false);
}

/* Notes the calling thread.  A known thread may have another state now. */
static void note_thread(uintptr_t state)
{
	pid_t tid = (pid_t)syscall(SYS_gettid), expected;
	size_t at = 0;

	while (at < INTERPRETER_THREADS_MOST && atomic_load(&threads[at].tid) != tid)
		at++;
	for (size_t i = 0; at == INTERPRETER_THREADS_MOST && i < INTERPRETER_THREADS_MOST; i++) {
		expected = 0;
		if (atomic_compare_exchange_strong(&threads[i].tid, &expected, TAKEN))
			at = i;
	}
	if (at == INTERPRETER_THREADS_MOST)
		return;
	atomic_store(&threads[at].state, state);
	atomic_store(&threads[at].self, (uintptr_t)pthread_self());
	atomic_store(&threads[at].tid, tid);
}

bool interpreter_is_known(void)
{
	return atomic_load_explicit(&key, memory_order_relaxed) != NO_KEY;
}

bool interpreter_is_unreadable(void)
{
	return atomic_load(&is_unreadable) && !atomic_load(&is_found);
}

static size_t own_frames(size_t most, struct python_frame *ret)
{
	int at = atomic_load_explicit(&key, memory_order_acquire);

	if (at == NO_KEY)
		return 0;
	uintptr_t state = (uintptr_t)pthread_getspecific((pthread_key_t)at);
	if (state == 0)
		return 0;
	bool is_new = state != checked.state;
	if (is_new) {
		if (checked.page != NULL)
			memset(checked.page, 0, pages.bytes);
		checked.state = state;
	}
	/* The key of an interpreter that has ended may now belong to another library. */
	if (!python_is_thread(&python, state, (uintptr_t)pthread_self()))
		return 0;
	if (is_new)
		note_thread(state);
	return python_frames(&python, state, most, ret);
}

bool interpreter_thread(size_t slot, struct interpreter_thread *ret)
{
	ret->tid = atomic_load(&threads[slot].tid);
	ret->state = atomic_load(&threads[slot].state);
	ret->self = atomic_load(&threads[slot].self);
	/* Another thread may have taken the slot since. */
	return ret->tid > 0 && atomic_load(&threads[slot].tid) == ret->tid;
}

void interpreter_ended(size_t slot, pid_t tid)
{
	atomic_compare_exchange_strong(&threads[slot].tid, &tid, 0);
}

/* A system call reads a whole block, since most fields lie in recently read blocks. */
static struct block {
	uintptr_t number; /* 0: empty */
	char bytes[1 << BLOCK_BITS];
} blocks[1 << BLOCKS_BITS]; /* of the thread that reads the frames of others */

static const struct block *block_of(uintptr_t number)
{
	struct block *block = &blocks[hp_hash(number, BLOCKS_BITS)];
	struct iovec here = { block->bytes, sizeof(block->bytes) };
	struct iovec there = { (void *)(number << BLOCK_BITS), sizeof(block->bytes) };

	if (block->number == number)
		return block;
	block->number = 0;
	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof(block->bytes))
		block->number = number;
	return block->number != 0 ? block : NULL;
}

/* A python_read for memory that other threads change or free. */
static bool read_by_kernel(uintptr_t from, void *to, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		size_t at = (from + done) % (1 << BLOCK_BITS), some = (1 << BLOCK_BITS) - at;
		const struct block *block = block_of((from + done) >> BLOCK_BITS);

		if (block == NULL)
			return false;
		some = some < bytes - done ? some : bytes - done;
		memcpy((char *)to + done, block->bytes + at, some);
		done += some;
	}
	return true;
}

/* Returns the interpreter with reads through the kernel, after clearing the blocks. */
static struct python by_kernel(void)
{
	struct python other = python;

	for (size_t i = 0; i < 1 << BLOCKS_BITS; i++)
		blocks[i].number = 0;
	other.read = read_by_kernel;
	return other;
}

size_t interpreter_frames(const struct interpreter_thread *thread, size_t most,
			  struct python_frame *ret)
{
	if (thread == NULL)
		return own_frames(most, ret);
	const struct python other = by_kernel();

	return python_is_thread(&other, thread->state, thread->self)
		       ? python_frames(&other, thread->state, most, ret)
		       : 0;
}

bool interpreter_place(const struct interpreter_thread *thread, const struct python_frame *frame,
		       struct python_place *ret)
{
	if (thread == NULL)
		return python_place(&python, frame, ret);
	struct python other = by_kernel();

	if (!python_place(&other, frame, ret))
		return false;
	/* Other code may exist at this address now. */
	other = by_kernel();
	return python_is_there(&other, frame);
}
