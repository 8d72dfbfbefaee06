/*
 * budget.c - compares the bytes that the library has pinned with its budget.
 *
 * The budget is computed from the environment at the start of the process, independently of the
 * library.  The figures are also written to a page that is shared with a watching process.
 */
#include "budget.h"
#include "pins.h"

#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t now, most, budget;
static struct standin_pins *page;

/* Finds the value in the initial environment; later changes by the program do not count. */
static bool value_of(const char *environment, size_t bytes, const char *name, const char **ret)
{
	size_t length = strlen(name);

	for (const char *at = environment; at < environment + bytes; at += strlen(at) + 1) {
		if (strncmp(at, name, length) != 0 || at[length] != '=')
			continue;
		*ret = at + length + 1;
		return true;
	}
	return false;
}

static uint64_t half_of_memory(void)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

/* As the library's documentation states; an invalid value means the default. */
static uint64_t size_of(const char *text)
{
	char *end;

	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (end == text || errno != 0)
		return half_of_memory();
	switch (*end | 0x20) {
	case 'g':
		return number << 30;
	case 'm':
		return number << 20;
	case 'k':
		return number << 10;
	default:
		return *end == '\0' ? number : half_of_memory();
	}
}

static uint64_t budget_of(const char *environment, size_t bytes)
{
	const char *value;

	if (!value_of(environment, bytes, "LD_PRELOAD", &value) || !strstr(value, "libhotpin"))
		return UINT64_MAX;
	if (value_of(environment, bytes, "HOTPIN", &value) && strcmp(value, "0") == 0)
		return 0;
	if (value_of(environment, bytes, "HOTPIN_PIN", &value) && strcmp(value, "0") == 0)
		return 0;
	if (value_of(environment, bytes, "HOTPIN_PIN_BUDGET", &value))
		return size_of(value);
	return half_of_memory();
}

/* Claims a line of the page for this process. */
static void join(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct standin_pins *got;

	if (fd < 0)
		return;
	got = mmap(NULL, STANDIN_PINS * sizeof(*got), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	for (int i = 0; got != MAP_FAILED && page == NULL && i < STANDIN_PINS; i++) {
		int nobody = 0;

		if (__atomic_compare_exchange_n(&got[i].pid, &nobody, getpid(), false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			page = &got[i];
	}
}

static void load(void)
{
	static char environment[256 << 10];
	static bool loaded;
	const char *path;
	size_t used = 0;

	if (loaded)
		return;
	loaded = true;
	int fd = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	for (ssize_t n = 1; fd >= 0 && n > 0 && used < sizeof(environment) - 1; used += (size_t)n)
		n = read(fd, environment + used, sizeof(environment) - 1 - used);
	if (fd >= 0)
		close(fd);
	budget = budget_of(environment, used);
	if (!value_of(environment, used, "STANDIN_PINS", &path))
		return;
	join(path);
	if (page != NULL)
		__atomic_store_n(&page->budget, budget, __ATOMIC_SEQ_CST);
}

static void tell(void)
{
	if (now > most)
		most = now;
	if (page == NULL)
		return;
	__atomic_store_n(&page->now, now, __ATOMIC_SEQ_CST);
	__atomic_store_n(&page->most, most, __ATOMIC_SEQ_CST);
}

void budget_take(unsigned flags, size_t bytes)
{
	if (flags != CU_MEMHOSTREGISTER_PORTABLE)
		return;
	load();
	now += bytes;
	tell();
	if (now <= budget)
		return;
	fprintf(stderr, "standin: %llu bytes pinned by the library, its budget is %llu\n",
		(unsigned long long)now, (unsigned long long)budget);
	abort();
}

void budget_give(unsigned flags, size_t bytes)
{
	if (flags != CU_MEMHOSTREGISTER_PORTABLE)
		return;
	now -= bytes;
	tell();
}
