/*
 * stage.c - runs the profiled code, and holds its clock and its output.
 */
#include "stage.h"
#include "base/log.h"
#include "base/options.h"
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

char stage_text[1 << 16], stage_json[1 << 22];
uint64_t stage_base;

static _Atomic uint64_t frozen_at;
_Atomic uint64_t stage_tick_ns;

/* Precedes libc's for this program and the libraries that it loads. */
__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *ret)
{
	uint64_t at = frozen_at;

	if (clock != CLOCK_MONOTONIC || at == 0)
		return (int)syscall(SYS_clock_gettime, clock, ret);
	frozen_at += stage_tick_ns;
	ret->tv_sec = (time_t)(at / SECOND);
	ret->tv_nsec = (long)(at % SECOND);
	return 0;
}

void stage_clock(bool frozen)
{
	struct timespec now;

	frozen_at = 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (frozen)
		frozen_at = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
	stage_base = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec - 10 * SECOND;
}

void stage_pass(uint64_t ns)
{
	frozen_at += ns;
}

static const char *name_of_wait(size_t function)
{
	(void)function;
	return "cuStreamSynchronize";
}

void stage_begin_with(bool json, const char *const *options, const struct trace_facts *facts)
{
	static char out[512];
	/* Samples of the test itself would increase the counts on a slow machine. */
	const char *environment[32] = { "HOTPIN_SAMPLE=off" };
	struct trace_facts all = *facts;
	size_t count = 1;

	if (all.function_name == NULL) {
		all.function_name = name_of_wait;
		all.functions = 1;
	}
	for (size_t i = 0; options != NULL && options[i] != NULL; i++)
		environment[count++] = options[i];
	snprintf(out, sizeof(out), "HOTPIN_OUT=%s", check_path("profile.json"));
	if (json)
		environment[count++] = out;
	environment[count] = NULL;
	hp_options_load((char *const *)environment);
	hp_log_open(check_path("log"));
	trace_start(&all);
}

void stage_begin(bool json, const char *const *options)
{
	stage_clock(true);
	stage_begin_with(json, options,
			 &(struct trace_facts){
				 .device = "NVIDIA H200",
				 .driver_version = 13000,
				 .began_ns = stage_base,
			 });
}

void stage_waited(uint64_t at_ns, uint64_t took_ns)
{
	trace_called(0, stage_base + at_ns, stage_base + at_ns + took_ns,
		     __builtin_frame_address(0));
}

static void take_file(const char *name, char *ret, size_t room)
{
	check_read(check_path(name), ret, room);
	unlink(check_path(name));
}

/* Keeps every profile that a test wrote, for the check against the schema. */
static void keep_json(void)
{
	const char *folder = getenv("HOTPIN_TEST_KEEP");
	char path[512];

	if (folder == NULL || stage_json[0] == '\0')
		return;
	snprintf(path, sizeof(path), "%s/%d.json", folder, (int)getpid());
	FILE *file = fopen(path, "w");
	if (file == NULL)
		abort();
	fputs(stage_json, file);
	fclose(file);
}

void stage_begin_calls(const char *option, const char *(*name)(size_t function), size_t functions)
{
	stage_begin_with(true, (const char *const[]){ option, NULL },
			 &(struct trace_facts){ .driver_version = 13000,
						.began_ns = stage_base,
						.function_name = name,
						.functions = functions });
}

void stage_end(void)
{
	trace_finish();
	take_file("log", stage_text, sizeof(stage_text));
	take_file("profile.json", stage_json, sizeof(stage_json));
	keep_json();
}

void stage_copied(enum trace_direction direction, enum trace_memory memory, uint64_t bytes,
		  uint64_t at_ns, uint64_t took_ns)
{
	trace_copied(&(struct trace_copy){
		.direction = direction,
		.memory = memory,
		.synchronous = true,
		.bytes = bytes,
		.enter_ns = stage_base + at_ns,
		.leave_ns = stage_base + at_ns + took_ns,
	});
}

static const char *after_key(const char *text, const char *key)
{
	char quoted[128];

	snprintf(quoted, sizeof(quoted), "\"%s\": ", key);
	const char *found = text != NULL ? strstr(text, quoted) : NULL;
	return found != NULL ? found + strlen(quoted) : NULL;
}

static long long number_at(const char *text)
{
	if (text == NULL)
		return -1;
	return strncmp(text, "null", 4) == 0 ? -2 : strtoll(text, NULL, 10);
}

long long stage_number(const char *section, const char *key)
{
	const char *from = section != NULL ? after_key(stage_json, section) : stage_json;

	if (from != NULL && strncmp(from, "null", 4) == 0)
		return -2;
	return number_at(after_key(from, key));
}

long long stage_row(const char *view, const char *direction, const char *memory, const char *key)
{
	char head[256];

	snprintf(head, sizeof(head),
		 "\"view\": \"%s\",\n\t\t\t\"direction\": \"%s\",\n\t\t\t\"memory\": \"%s\"", view,
		 direction, memory);
	return number_at(after_key(strstr(stage_json, head), key));
}

int stage_count(const char *text, const char *part)
{
	int count = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part))
		count++;
	return count;
}

/* Replaces the number after `mark` by N. */
static void put_aside(char *text, const char *mark)
{
	char *at = strstr(text, mark);

	if (at == NULL)
		return;
	at += strlen(mark);
	size_t digits = strspn(at, "0123456789.");
	memmove(at + 1, at + digits, strlen(at + digits) + 1);
	*at = 'N';
}

/* The last line has the path of the file, which varies: it is removed. */
static void put_path_aside(char *text, const char *mark)
{
	char *at = strstr(text, mark);

	if (at != NULL)
		strcpy(at + strlen(mark), " FILE\n");
}

int stage_is_golden(const char *name)
{
	static char expected[1 << 16];
	char path[512];

	put_aside(stage_text, "pid ");
	put_aside(stage_text, "Profiling cost ");
	put_path_aside(stage_text, "Full report: hotpin report");
	snprintf(path, sizeof(path), "%s/%s.txt", getenv("HOTPIN_GOLDEN"), name);
	check_read(path, expected, sizeof(expected));
	if (strcmp(expected, stage_text) == 0)
		return 1;
	printf("# expected (%s):\n%s# written:\n%s", path, expected, stage_text);
	return 0;
}
