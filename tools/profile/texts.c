/*
 * texts.c - formats figures that may be unknown, and derives shares and sentences from them.
 */
#include "profile/texts.h"
#include "base/parse.h"
#include "base/units.h"

#include <jansson.h>
#include <obstack.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The memory of obstacks. */
#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

const struct text_state text_states[TEXT_STATES] = {
#define STATE(field, title, heading, dropped) \
	{ #field, title, heading, offsetof(struct profile_split, field##_ns) },
#include "base/states.def"
};

/* Returns the memory of all texts: the command's, until it ends. */
static struct obstack *texts(void)
{
	static struct obstack memory;

	if (memory.chunk == NULL) {
		obstack_alloc_failed_handler = profile_end_without_memory;
		obstack_init(&memory);
		obstack_alignment_mask(&memory) = 0;
	}
	return &memory;
}

/* Returns room for one of the texts of units.h. */
static char *figure_room(void)
{
	return obstack_alloc(texts(), UNITS_ROOM);
}

char *text_of(const char *format, va_list args)
{
	obstack_vprintf(texts(), format, args);
	obstack_1grow(texts(), '\0');
	return obstack_finish(texts());
}

char *text_made(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *text = text_of(format, args);
	va_end(args);
	return text;
}

const char *text_if(bool is_said, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const char *text = is_said ? text_of(format, args) : "";
	va_end(args);
	return text;
}

void text_add_line(const char **lines, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*lines = text_made("%s%s\n", *lines != NULL ? *lines : "", text_of(format, args));
	va_end(args);
}

const char *text_take_line(const char **lines)
{
	const char *line = *lines;

	if (line == NULL || line[0] == '\0')
		return NULL;
	size_t bytes = strcspn(line, "\n");
	*lines += bytes + (line[bytes] == '\n');
	return text_made("%.*s", (int)bytes, line);
}

const char *text_time(int64_t ns)
{
	return ns < 0 ? "n/a" : units_time(figure_room(), (uint64_t)ns);
}

const char *text_bytes(int64_t bytes)
{
	return bytes < 0 ? "n/a" : units_bytes(figure_room(), (uint64_t)bytes);
}

const char *text_count(int64_t count)
{
	return count < 0 ? "n/a" : units_count(figure_room(), (uint64_t)count);
}

const char *text_several(int64_t count, const char *one, const char *several)
{
	return text_made("%s %s", text_count(count), count == 1 ? one : several);
}

const char *text_rate(int64_t bytes, int64_t ns)
{
	if (bytes <= 0 || ns <= 0)
		return "n/a";
	return units_rate(figure_room(), (uint64_t)bytes, (uint64_t)ns);
}

const char *text_share(int64_t part, int64_t whole)
{
	if (part < 0 || whole <= 0)
		return "n/a";
	return units_share(figure_room(), (uint64_t)part, (uint64_t)whole);
}

bool text_peak_is_best(const struct profile *profile)
{
	const char *source = profile->environment.peak_source;

	return source != NULL && strcmp(source, "observed") == 0;
}

const char *text_peak(const struct profile *profile)
{
	const char *source = profile->environment.peak_source;
	const char *h2d = text_rate(profile->environment.peak_h2d_bytes_per_s, 1000000000),
		   *d2h = text_rate(profile->environment.peak_d2h_bytes_per_s, 1000000000);

	if (text_peak_is_best(profile))
		return text_made("Best rate of the run: %s GB/s H2D, %s GB/s D2H.", h2d, d2h);
	return text_made("Peak of the link: %s GB/s H2D, %s GB/s D2H (%s).", h2d, d2h,
			 source != NULL && strcmp(source, "link") == 0 ? "PCIe speed and width"
								       : text_name(source, 16));
}

const char *text_power(int64_t bytes)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	size_t unit = 0;

	if (bytes < 0)
		return "n/a";
	while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < HP_LEN(names)) {
		bytes /= 1024;
		unit++;
	}
	return text_made("%lld %s", (long long)bytes, names[unit]);
}

const char *text_change(int64_t before_ns, int64_t after_ns)
{
	if (before_ns < 0 || after_ns < 0)
		return "n/a";
	if (before_ns == after_ns)
		return "no change";
	return text_made(
		"%s %s",
		text_time(after_ns < before_ns ? before_ns - after_ns : after_ns - before_ns),
		after_ns < before_ns ? "less" : "more");
}

bool text_is_same(int64_t before, int64_t after, unsigned noise_tenths)
{
	int64_t apart = before < after ? after - before : before - after;

	return (__int128_t)apart * 1000 <= (__int128_t)before * noise_tenths;
}

const char *text_name(const char *text, size_t columns)
{
	if (text == NULL)
		return "n/a";
	size_t length = strlen(text);
	/* A byte may become four, as a character may have. */
	size_t room = TEXT_BYTES(length < columns ? length : columns) + 3;
	char *made = obstack_alloc(texts(), room);
	units_escape(made, room, text, columns);
	/* What the text does not need is for the next one. */
	obstack_free(texts(), made + strlen(made) + 1);
	return made;
}

void text_put(FILE *to, const char *text, const char *(*instead)(const char *at))
{
	size_t length = strlen(text), bytes;

	for (size_t at = 0; at < length; at += bytes) {
		bytes = units_printable(text + at, length - at);
		const char *other = bytes > 0 ? instead(text + at) : NULL;

		if (other != NULL)
			fputs(other, to);
		else if (bytes > 0)
			fwrite(text + at, 1, bytes, to);
		else
			fprintf(to, "\\x%02x", (unsigned char)text[at]);
		bytes += bytes == 0;
	}
}

json_t *text_json(const char *text)
{
	json_t *made = text != NULL ? json_string(text) : json_null();

	return made != NULL ? made : json_string(text_name(text, 300));
}

const char *text_direction(const char *direction)
{
	static const char *const names[][2] = { { "h2d", "H2D" }, { "d2h", "D2H" },
						{ "d2d", "D2D" }, { "h2h", "H2H" },
						{ "p2p", "P2P" }, { "unknown", "other" } };

	for (size_t i = 0; i < HP_LEN(names); i++)
		if (strcmp(direction, names[i][0]) == 0)
			return names[i][1];
	return text_name(direction, 8);
}

const char *text_event_kind(int64_t kind)
{
	static const char *const kinds[PROFILE_EVENT_COUNT] = {
		[PROFILE_KERNEL] = "kernel",    [PROFILE_COPY] = "copy",
		[PROFILE_MEMSET] = "memset",    [PROFILE_COPY_CALL] = "copy call",
		[PROFILE_WAIT] = "wait",        [PROFILE_RANGE] = "range",
		[PROFILE_API] = "driver call",  [PROFILE_OWN] = "hotpin",
		[PROFILE_SAMPLE] = "host code",
	};

	return kind >= 0 && kind < PROFILE_EVENT_COUNT ? kinds[kind] : "other";
}

const char *text_when(const char *ended_utc)
{
	unsigned at[6];

	if (ended_utc == NULL || strlen(ended_utc) != 15 ||
	    sscanf(ended_utc, "%4u%2u%2u-%2u%2u%2u", &at[0], &at[1], &at[2], &at[3], &at[4],
		   &at[5]) != 6)
		return "n/a";
	return text_made("%04u-%02u-%02u %02u:%02u:%02u UTC", at[0], at[1], at[2], at[3], at[4],
			 at[5]);
}

const char *text_cuda_version(int64_t version)
{
	if (version < 0)
		return "n/a";
	return text_made("%lld.%lld", (long long)version / 1000, (long long)version % 1000 / 10);
}

const char *text_cupti_version(int64_t version)
{
	if (version < 0)
		return "n/a";
	/* CUPTI numbers its API up to CUDA 12; from CUDA 13 on it states the toolkit's version. */
	if (version < 100000)
		return text_made("API %lld", (long long)version);
	return text_made("%lld.%lld", (long long)version / 10000, (long long)version / 100 % 100);
}

int64_t text_state_ns(const struct profile_split *split, int state)
{
	return *(const int64_t *)((const char *)split + text_states[state].at);
}

void text_split_tenths(const struct profile_split *split, unsigned ret_tenths[TEXT_STATES])
{
	uint64_t states[TEXT_STATES];

	for (int state = 0; state < TEXT_STATES; state++) {
		int64_t ns = text_state_ns(split, state);

		states[state] = ns > 0 ? (uint64_t)ns : 0;
	}
	units_split_tenths(states, TEXT_STATES, ret_tenths);
}

static const char no_split[] = "no split of the wall time"; /* as in trace/out/validity.c */

const char *text_no_split(const struct profile *profile)
{
	const char *why = profile->split_why, *end = why != NULL ? strstr(why, no_split) : NULL;

	if (why == NULL)
		return "The wall time is not split: there are no device times";
	/* The warning ends with this, too. */
	return text_made("The wall time is not split: %.*s",
			 (int)(end != NULL && end > why + 2 ? end - why - 2 : 200),
			 text_name(why, 200));
}
