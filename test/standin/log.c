/*
 * log.c - the call log, call counts, and faults on demand.
 *
 * A line names objects by serial numbers instead of addresses, so that the logs of two runs of one
 * program can be compared as text.
 */
#include "engine.h"
#include "control.h"
#include "entries.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNTS 2048
#define FAULTS 16

struct fault {
	char name[64];
	int nth, seen;
	CUresult code;
};

static char *text;
static size_t text_length, text_room;
static int log_fd = -1;
static struct {
	const char *name;
	int calls;
} counts[COUNTS];
static struct fault faults[FAULTS];
static int nfaults;
struct delay delay_slow, delay_late;

void log_open(const char *path)
{
	if (path != NULL && *path != '\0')
		log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

void log_note(const char *line)
{
	size_t n = strlen(line) + 1;
	char *end;

	if (text_length + n + 1 > text_room) {
		size_t room = (text_length + n + 1) * 2 + 4096;
		char *more = realloc(text, room);

		if (more == NULL)
			return;
		text = more;
		text_room = room;
	}
	end = text + text_length;
	memcpy(end, line, n - 1);
	end[n - 1] = '\n';
	end[n] = '\0';
	text_length += n;
	if (log_fd >= 0 && write(log_fd, end, n) < 0)
		log_fd = -1;
}

/* "cuMemcpyHtoDAsync_v2_ptsz" has the base "cuMemcpyHtoDAsync". */
static size_t name_base_length(const char *name)
{
	size_t n = strlen(name);

	if (n > 5 && (strcmp(name + n - 5, "_ptsz") == 0 || strcmp(name + n - 5, "_ptds") == 0))
		n -= 5;
	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' && name[n - 1] >= '1' &&
	    name[n - 1] <= '9')
		n -= 3;
	return n;
}

bool name_matches(const char *name, const char *wanted)
{
	size_t base = name_base_length(name);

	return strcmp(name, wanted) == 0 ||
	       (strlen(wanted) == base && strncmp(name, wanted, base) == 0);
}

static void count(const char *name)
{
	unsigned hash = 5381;

	for (const char *c = name; *c != '\0'; c++)
		hash = hash * 33 + (unsigned char)*c;
	for (unsigned i = 0; i < COUNTS; i++) {
		unsigned at = (hash + i) % COUNTS;

		if (counts[at].name == NULL)
			counts[at].name = name;
		if (strcmp(counts[at].name, name) == 0) {
			counts[at].calls++;
			return;
		}
	}
}

int log_calls(const char *name)
{
	int calls = 0;

	for (unsigned i = 0; i < COUNTS; i++)
		if (counts[i].name != NULL && name_matches(counts[i].name, name))
			calls += counts[i].calls;
	return calls;
}

const char *log_text(void)
{
	static char *shown;
	char *copy = strdup(text != NULL ? text : "");

	free(shown);
	shown = copy;
	return shown != NULL ? shown : "";
}

void log_reset(void)
{
	text_length = 0;
	if (text != NULL)
		text[0] = '\0';
	memset(counts, 0, sizeof(counts));
}

static int show_memory(char *to, size_t room, uintptr_t at, const char *unknown)
{
	static const char *const names[] = { [B_DEVICE] = "dev",
					     [B_MANAGED] = "managed",
					     [B_HOST] = "pinned",
					     [B_REGISTERED] = "registered",
					     [B_ARRAY] = "array" };
	const struct block *block = block_find(at);

	if (at == 0)
		return snprintf(to, room, "null");
	if (block == NULL)
		return snprintf(to, room, "%s", unknown);
	return snprintf(to, room, "%s%u+%zu", names[block->kind], block->serial,
			(size_t)(at - block->base));
}

static int show_stream(char *to, size_t room, CUstream handle)
{
	static const char *const special[] = { "null", "legacy", "perthread" };
	const struct stream *stream = handle_get(H_STREAM, handle);

	if ((uintptr_t)handle < 3)
		return snprintf(to, room, "%s", special[(uintptr_t)handle]);
	if (stream == NULL)
		return snprintf(to, room, "stream?");
	return snprintf(to, room, "stream%llu", (unsigned long long)stream->id);
}

static int show(char *to, size_t room, char what, va_list args)
{
	const struct event *event;
	const char *string;

	switch (what) {
	case 'D':
		return show_memory(to, room, (uintptr_t)va_arg(args, CUdeviceptr), "dev?");
	case 'H':
		return show_memory(to, room, (uintptr_t)va_arg(args, const void *), "host");
	case 'S':
		return show_stream(to, room, va_arg(args, CUstream));
	case 'E':
		event = handle_get(H_EVENT, va_arg(args, CUevent));
		return snprintf(to, room, "event%d", event != NULL ? (int)event->serial : -1);
	case 'z':
		return snprintf(to, room, "%zu", va_arg(args, size_t));
	case 'u':
		return snprintf(to, room, "%u", va_arg(args, unsigned));
	case 'i':
		return snprintf(to, room, "%d", va_arg(args, int));
	case 's':
		string = va_arg(args, const char *);
		return snprintf(to, room, "%s", string != NULL ? string : "null");
	default:
		return snprintf(to, room, "%s", va_arg(args, void *) != NULL ? "ptr" : "null");
	}
}

void log_call(const char *name, const char *format, va_list args)
{
	char line[512];
	size_t n = (size_t)snprintf(line, sizeof(line), "%s", name);
	va_list rest;

	count(name);
	va_copy(rest, args);
	if (*format != '\0' && n < sizeof(line) - 1)
		line[n++] = ' ';
	for (const char *c = format; *c != '\0' && n < sizeof(line) - 80; c++) {
		if (*c == '%')
			n += (size_t)show(line + n, 80, *++c, rest);
		else
			line[n++] = *c;
		if (n > sizeof(line) - 80)
			n = sizeof(line) - 80;
	}
	line[n] = '\0';
	va_end(rest);
	log_note(line);
}

void misread(const char *variable, const char *value)
{
	fprintf(stderr, "standin: %s cannot be read: %s\n", variable, value);
	abort();
}

/* True if the driver has such a function, in any flavor. */
static bool is_call(const char *name)
{
	const struct entry *e = standin_entries;
	size_t n = name_base_length(name);

	while (e->base != NULL && (strlen(e->base) != n || strncmp(e->base, name, n) != 0))
		e++;
	return e->base != NULL;
}

void fail_load(const char *spec)
{
	for (nfaults = 0; spec != NULL && *spec != '\0';) {
		struct fault *f = &faults[nfaults];
		int code = CUDA_ERROR_OUT_OF_MEMORY;

		if (nfaults == FAULTS ||
		    sscanf(spec, "%63[^:,]:%d:%d", f->name, &f->nth, &code) < 2 ||
		    !is_call(f->name))
			misread("STANDIN_FAIL", spec);
		f->code = (CUresult)code;
		f->seen = 0;
		nfaults++;
		spec = strchr(spec, ',');
		if (spec != NULL)
			spec++;
	}
}

CUresult fail_due(const char *name)
{
	CUresult code = CUDA_SUCCESS;

	for (int i = 0; i < nfaults; i++)
		if (name_matches(name, faults[i].name) && ++faults[i].seen == faults[i].nth)
			code = faults[i].code;
	return code;
}

void delay_load(struct delay *delay, const char *variable, const char *spec)
{
	if (spec != NULL && *spec != '\0' &&
	    (sscanf(spec, "%63[^:]:%u", delay->name, &delay->ms) != 2 || !is_call(delay->name)))
		misread(variable, spec);
}

unsigned delay_due(const struct delay *delay, const char *name)
{
	return delay->ms != 0 && name_matches(name, delay->name) ? delay->ms : 0;
}
