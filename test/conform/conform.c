/*
 * conform.c - prints facts about the CUDA driver's behavior, on the stand-in and on a device.
 *
 *	conform                prints every fact
 *	conform --check        prints facts that differ from facts.def; status 1 if there are any
 *	conform --rows         prints every fact as a row of facts.def
 *	conform SECTION...     these sections only, with any of the above
 *
 * The loader chooses libcuda.so.1; the stand-in is recognized by its control functions.  A device
 * must be otherwise idle: 30 ms of work on it are assumed to be longer than any call.
 */
#include "conform.h"
#include "check.h"
#include "ptx.h"

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECONDS     60
#define NOT_MODELED "not modeled on this machine"

struct driver cu[2];
CUcontext primary;
CUdeviceptr there;
CUstream blocking, unbound;
bool stand_in;

static struct section *first_section;
struct section **section_last = &first_section;
static const char *section;
static CUfunction spins, moves, prints;
static CUevent busy_end;
static void *driver;

/* ---- the table ---- */

enum known {
	SEEN,  /* on an H200, driver 580.159 */
	SAID,  /* by NVIDIA's documentation */
	GUESS, /* not yet checked on a device */
};

static const struct row {
	const char *name, *value;
	enum known known;
	const char *stand_in; /* the value on the stand-in, if it differs */
	bool like;            /* name and value are two groups of facts */
} rows[] = {
#define FACT_ROW(name, value, known)                   { name, value, known, NULL, false },
#define STRICTER_ROW(name, value, known, ours, reason) { name, value, known, ours, false },
#define LIKE_ROW(name, other)                          { name, other, SEEN, NULL, true },
#include "facts.def"
#undef FACT_ROW
#undef STRICTER_ROW
#undef LIKE_ROW
};
#define ROWS  (sizeof(rows) / sizeof(*rows))
#define FACTS 1208 /* that all sections tell; several may have one row */
static bool row_met[ROWS];
static unsigned facts, differences, answered;
static bool check, as_rows;

/* Returns the number of the row with that name, ROWS if there is none. */
static size_t row_named(const char *name)
{
	size_t i = 0;

	while (i < ROWS && strcmp(rows[i].name, name) != 0)
		i++;
	if (i < ROWS)
		row_met[i] = true;
	return i;
}

/* Returns the row of a fact: its own, that of its group, or that of the fact that it is like. */
static size_t row_of(const char *name)
{
	size_t found = row_named(name);
	const char *end = name + strlen(name);

	while (found == ROWS && (end = memrchr(name, '.', (size_t)(end - name))) != NULL) {
		char other[256];

		snprintf(other, sizeof(other), "%.*s", (int)(end - name), name);
		found = row_named(other);
		if (found == ROWS || !rows[found].like)
			continue;
		snprintf(other, sizeof(other), "%s%s", rows[found].value, end);
		found = row_of(other);
	}
	return found;
}

static void compare(const char *name, const char *value)
{
	size_t i = row_of(name);

	if (i == ROWS) {
		printf("%s = %s, which facts.def does not have\n", name, value);
		differences++;
		return;
	}
	if (stand_in && strcmp(value, NOT_MODELED) == 0)
		return;
	const char *wanted =
		stand_in && rows[i].stand_in != NULL ? rows[i].stand_in : rows[i].value;
	if (strcmp(wanted, value) == 0) {
		answered += rows[i].known == GUESS;
		return;
	}
	printf("%s = %s, not %s%s\n", name, value, wanted,
	       stand_in                ? ""
	       : rows[i].known == SEEN ? ""
	       : rows[i].known == SAID ? " as the documentation says"
				       : " as was guessed");
	differences++;
}

static void take_fact(char *line)
{
	char *value = strstr(line, " = ");

	if (value == NULL) {
		printf("%s\n", line);
		differences++;
		return;
	}
	facts++;
	if (!check && !as_rows) {
		printf("%s\n", line);
		return;
	}
	*value = '\0';
	if (check)
		compare(line, value + 3);
	else
		printf("FACT_ROW(\"%s\", \"%s\", GUESS)\n", line, value + 3);
}

/* ---- sections ---- */

static int report = -1;

void fact(const char *name, const char *format, ...)
{
	char line[512];
	int length = snprintf(line, sizeof(line), "%s.%s = ", section, name);
	va_list args;

	va_start(args, format);
	length += vsnprintf(line + length, sizeof(line) - (size_t)length - 1, format, args);
	va_end(args);
	line[length++] = '\n';
	if (write(report, line, (size_t)length) != length)
		_exit(3);
}

bool holds_pages(const void *at)
{
	__typeof__(int(const void *)) *pinned = (__typeof__(pinned))dlsym(driver, "standin_pinned");

	return pinned == NULL || pinned(at) == 2;
}

void fact_of_pages(bool held, const char *name, const char *value)
{
	fact(name, "%s", held ? value : NOT_MODELED);
}

void must(CUresult rc, const char *text, const char *file, int line)
{
	char words[256];

	if (rc == CUDA_SUCCESS)
		return;
	snprintf(words, sizeof(words), "ends = %s:%d: %s is %d\n", strrchr(file, '/') + 1, line,
		 text, (int)rc);
	dprintf(report, "%s.%s", section, words);
	_exit(2);
}

const char *code(CUresult rc)
{
	static char text[8][16];
	static unsigned next;
	char *at = text[next++ % 8];

	snprintf(at, 16, "%d", (int)rc);
	return at;
}

static void run_section(const struct section *which)
{
	char text[1 << 16];
	size_t length = 0;
	ssize_t got;
	int ends[2], status = 0;

	fflush(stdout);
	if (pipe(ends) != 0)
		exit(2);
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		report = ends[1];
		section = which->name;
		alarm(check_limit(SECONDS));
		which->run();
		/* exit() would run the driver's handlers, which belong to no section. */
		_exit(0);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + length, sizeof(text) - 1 - length)) > 0) {
		char *line = text, *end;

		length += (size_t)got;
		text[length] = '\0';
		for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
			*end = '\0';
			take_fact(line);
		}
		length -= (size_t)(line - text);
		memmove(text, line, length);
	}
	close(ends[0]);
	waitpid(child, &status, 0);
	if (status != 0) {
		printf("%s: %s %d\n", which->name, WIFSIGNALED(status) ? "signal" : "status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		differences++;
	}
}

/* ---- what every section has ---- */

static void driver_find(void)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
	if (driver == NULL) {
		printf("there is no driver: %s\n", dlerror());
		exit(77);
	}
	stand_in = dlsym(driver, "standin_calls") != NULL;
	ptx_find_stand_in(driver);
	driver_ask((__typeof__(cuGetProcAddress_v2) *)dlsym(driver, "cuGetProcAddress_v2"), cu);
}

void kernels_load(void)
{
	CUmodule module;

	MUST(cu[0].cuModuleLoadData(&module, ptx_image));
	MUST(cu[0].cuModuleGetFunction(&spins, module, "test_spin"));
	MUST(cu[0].cuModuleGetFunction(&moves, module, "test_move"));
	MUST(cu[0].cuEventCreate(&busy_end, CU_EVENT_DISABLE_TIMING));
	/* The first launch of a kernel waits, because it loads the module; so do the driver's. */
	busy(NULL);
	move_word(NULL, there, there);
	MUST(cu[0].cuMemsetD8Async(there, 0, 64, NULL));
	MUST(cu[0].cuMemsetD8Async(there, 0, MIB, NULL));
	settle();
}

void begin(void)
{
	MUST(cu[0].cuInit(0));
	MUST(cu[0].cuDevicePrimaryCtxRetain(&primary, 0));
	MUST(cu[0].cuCtxSetCurrent(primary));
	MUST(cu[0].cuMemAlloc_v2(&there, THERE_BYTES));
	MUST(cu[0].cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	MUST(cu[0].cuStreamCreate(&unbound, CU_STREAM_NON_BLOCKING));
	kernels_load();
}

void settle(void)
{
	MUST(cu[0].cuCtxSynchronize());
}

void busy(CUstream on)
{
	uint64_t ns = 30 * 1000000;
	void *arguments[] = { &ns };

	MUST(cu[0].cuLaunchKernel(spins, 1, 1, 1, 1, 1, 1, 0, on, arguments, NULL));
	MUST(cu[0].cuEventRecord(busy_end, on));
}

bool still_busy(void)
{
	return cu[0].cuEventQuery(busy_end) == CUDA_ERROR_NOT_READY;
}

const char *returned(CUresult rc)
{
	bool waits = !still_busy();

	return rc != CUDA_SUCCESS ? code(rc) : waits ? "waits" : "returns";
}

void move_word(CUstream on, CUdeviceptr to, CUdeviceptr from)
{
	void *arguments[] = { &to, &from };

	MUST(cu[0].cuLaunchKernel(moves, 1, 1, 1, 1, 1, 1, 0, on, arguments, NULL));
}

CUresult launch_printing(void)
{
	uint64_t ns = 0, aloud = 0;
	void *arguments[] = { &ns, &aloud };
	CUmodule module;

	if (prints == NULL) {
		MUST(cu[0].cuModuleLoadData(&module, ptx_saying));
		MUST(cu[0].cuModuleGetFunction(&prints, module, "test_say"));
	}
	return cu[0].cuLaunchKernel(prints, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL);
}

char *pages(size_t bytes, int value)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		_exit(3);
	return memset(at, value, bytes);
}

int peek(CUdeviceptr at)
{
	static unsigned char *byte;

	if (byte == NULL)
		MUST(cu[0].cuMemAllocHost_v2((void **)&byte, 1));
	MUST(cu[0].cuMemcpyDtoH_v2(byte, at, 1));
	return *byte;
}

struct errand {
	void (*job)(void *);
	void *argument;
	CUcontext context;
};

static void *run_errand(void *given)
{
	struct errand *errand = given;

	MUST(cu[0].cuCtxSetCurrent(errand->context));
	errand->job(errand->argument);
	return NULL;
}

void elsewhere(void (*job)(void *), void *argument)
{
	struct errand errand = { job, argument, NULL };
	pthread_t thread;

	MUST(cu[0].cuCtxGetCurrent(&errand.context));
	if (pthread_create(&thread, NULL, run_errand, &errand) != 0)
		_exit(3);
	pthread_join(thread, NULL);
}

/* ---- the command line ---- */

static bool is_wanted(const char *name, char **list)
{
	bool any = false;

	for (; *list != NULL; list++) {
		if ((*list)[0] == '-')
			continue;
		any = true;
		if (strcmp(*list, name) == 0)
			return true;
	}
	return !any;
}

int main(int argc, char **argv)
{
	bool all = true;

	for (int i = 1; i < argc; i++) {
		check = check || strcmp(argv[i], "--check") == 0;
		as_rows = as_rows || strcmp(argv[i], "--rows") == 0;
		all = all && argv[i][0] == '-';
	}
	driver_find();
	for (struct section *s = first_section; s != NULL; s = s->next)
		if (is_wanted(s->name, argv + 1))
			run_section(s);
	if (!check)
		return differences != 0;
	for (size_t i = 0; all && i < ROWS; i++)
		if (!row_met[i]) {
			printf("%s is not told\n", rows[i].name);
			differences++;
		}
	if (all && facts != FACTS) {
		printf("%u facts are told, not %d\n", facts, FACTS);
		differences++;
	}
	printf("conform: %u facts on %s, %u differences", facts,
	       stand_in ? "the stand-in" : "a device", differences);
	if (!stand_in)
		printf(", %u guesses right", answered);
	printf("\n");
	return differences != 0 || facts == 0;
}
