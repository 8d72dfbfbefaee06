/*
 * interpreter.c - the interpreter's data by its exported symbols, a thread's by its thread key.
 *
 * CPython stores the state of each thread under a pthread key and clears it before it frees the
 * state, so the key leads to living memory, whoever holds the interpreter's lock.  Which key it is
 * stands nowhere; it is the one whose value names the calling thread and leads to its frames.
 *
 * Reading through the kernel takes 0.3 us a field, too much for each copy.  So the kernel is asked
 * once for each page that a thread reads; the interpreter keeps the frames of a thread that runs.
 */
#define _GNU_SOURCE
#include "trace/interpreter.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ADDRESS_LEAST 65536
#define PAGE_BITS     12
#define SETS_BITS     5 /* of two pages each */
#define NO_KEY        (-1)

/* Constant once `is_known`. */
static struct python python;
static _Atomic bool is_known;
static _Atomic int key = NO_KEY;

static _Atomic bool looking;
static unsigned long long loads_seen; /* by the one that is looking */

static __thread struct {
	uintptr_t state; /* the pages were checked for */
	uintptr_t page[1 << SETS_BITS][2];
} checked __attribute__((tls_model("initial-exec")));

/* The kernel reads eight bytes before it finds that there is no such `how`. */
static bool is_readable(uintptr_t address)
{
	int saved = errno;
	bool readable = syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8) < 0 && errno == EINVAL;

	errno = saved;
	return readable;
}

static bool check_page(uintptr_t number)
{
	uintptr_t *set = checked.page[number * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SETS_BITS)];

	if (set[0] == number || set[1] == number)
		return true;
	if (!is_readable(number << PAGE_BITS))
		return false;
	set[1] = set[0];
	set[0] = number;
	return true;
}

/* As python_read.  What it reads may be anybody's. */
__attribute__((no_sanitize("address"))) static bool read_own(uintptr_t from, void *to, size_t bytes)
{
	uintptr_t first_page = from >> PAGE_BITS, last_page = (from + bytes - 1) >> PAGE_BITS;

	if (from < ADDRESS_LEAST || last_page < first_page || !check_page(first_page) ||
	    (last_page != first_page && !check_page(last_page)))
		return false;
	if (bytes == sizeof(uintptr_t) && from % sizeof(uintptr_t) == 0) {
		*(uintptr_t *)to = *(const volatile uintptr_t *)from;
		return true;
	}
	for (size_t i = 0; i < bytes; i++)
		((volatile char *)to)[i] = ((const volatile char *)from)[i];
	return true;
}

/* The number of loads since the process began. */
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

/* The program and what it links, or a library that was loaded for its loader alone. */
static void *open_interpreter(void)
{
	void *library = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	char path[PATH_MAX];

	if (library != NULL && dlsym(library, "_PyRuntime") != NULL)
		return library;
	if (library != NULL)
		dlclose(library);
	if (dl_iterate_phdr(note_library, path) == 0)
		return NULL;
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
}

static bool find_layout(void *library, struct python_layout *ret)
{
	const unsigned long *version = dlsym(library, "Py_Version");
	const uint64_t *runtime = dlsym(library, "_PyRuntime");

	if (runtime == NULL)
		return false;
	/* The number is exported from 3.11 on; Py_Is() came with 3.10. */
	if (version == NULL)
		return dlsym(library, "Py_Is") != NULL && python_layout_of(0x030a0000, ret);
	return python_layout_of((uint32_t)*version, ret) || python_layout_from(runtime, ret);
}

static void find_interpreter(void)
{
	struct python found = { .read = read_own };
	void *library = open_interpreter();

	if (library == NULL || !find_layout(library, &found.layout))
		return;
	found.code_type = (uintptr_t)dlsym(library, "PyCode_Type");
	found.text_type = (uintptr_t)dlsym(library, "PyUnicode_Type");
	found.bytes_type = (uintptr_t)dlsym(library, "PyBytes_Type");
	if (found.code_type == 0 || found.text_type == 0 || found.bytes_type == 0)
		return;
	/* The handle stays open, and so does the library. */
	python = found;
	atomic_store_explicit(&is_known, true, memory_order_release);
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
	if (!atomic_load(&is_known)) {
		dl_iterate_phdr(note_loads, &loads);
		if (loads != loads_seen)
			find_interpreter();
		loads_seen = loads;
	}
	if (atomic_load(&is_known))
		find_key();
	atomic_store(&looking, false);
}

size_t interpreter_frames(size_t most, struct python_frame *ret)
{
	int at = atomic_load_explicit(&key, memory_order_acquire);

	if (at == NO_KEY)
		return 0;
	uintptr_t state = (uintptr_t)pthread_getspecific((pthread_key_t)at);
	if (state == 0)
		return 0;
	if (state != checked.state) {
		memset(checked.page, 0, sizeof(checked.page));
		checked.state = state;
	}
	/* The key of an interpreter that has ended may be another library's. */
	if (!python_is_thread(&python, state, (uintptr_t)pthread_self()))
		return 0;
	return python_frames(&python, state, most, ret);
}

bool interpreter_place(const struct python_frame *frame, struct python_place *ret)
{
	return python_place(&python, frame, ret);
}
