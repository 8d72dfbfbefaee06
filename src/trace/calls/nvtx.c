/*
 * nvtx.c - the functions of an NVTX tool.
 *
 * NVTX 3 is compiled into programs.  Its first call loads the file that NVTX_INJECTION64_PATH names
 * and calls InitializeInjectionNvtx2().  NVTX 2 is a shared library, libnvToolsExt.so.1, which
 * calls InitializeInjectionNvtx() instead.  Both pass the same tables (Score-P, scorep_nvtx.c, has
 * one function for both), and a process may have both.  nvToolsExt.h and nvtxTypes.h define the
 * layouts; hotpin declares its own.  Each function returns the same value as without a tool.
 */
#include "trace/calls/nvtx.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/parse.h"
#include "trace/calls/capture_range.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/trace.h"
#include "trace/utf8.h"

#include <stddef.h>
#include <stdio.h>
#include <wchar.h>

#define NO_TRACKING (-2) /* NVTX_NO_PUSH_POP_TRACKING */
#define TEXT_MOST   256
/* In the ticket of a range: it is a part of the capture range. */
#define CAPTURES    ((uint64_t)1 << 63)

enum { TABLE_CALLBACKS = 1 };
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { TEXT_ASCII = 1, TEXT_WIDE = 2, TEXT_REGISTERED = 3 };

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t text_type;
	const void *text;
};

_Static_assert(offsetof(struct attributes, text) == 40, "as in nvToolsExt.h");

struct callbacks {
	size_t bytes;
	int (*get_module)(int module, void ****ret_table, unsigned *ret_count);
};

/* The target of a handle of a domain or a registered string.  Never freed. */
struct named {
	char text[TEXT_MOST];
};

/* Time belongs to the outermost range; the ranges inside it are counted. */
static __thread struct {
	unsigned depth;
	unsigned captured; /* the depth of the outermost range that is captured; 0: there is none */
	uint64_t ticket;
} pushed __attribute__((tls_model("initial-exec")));

/* Converts to UTF-8; text that does not fit is cut off, and none is "". */
static void narrow(const wchar_t *wide, char *ret, size_t room)
{
	size_t used = 0;

	for (; wide != NULL && *wide != L'\0' && used + 5 < room; wide++)
		used += utf8_put((uint32_t)*wide, ret + used);
	ret[used] = '\0';
}

static const char *text_of(const struct attributes *attributes, char *buffer, size_t room)
{
	if (attributes == NULL || attributes->size <= offsetof(struct attributes, text) ||
	    attributes->text == NULL)
		return "";
	switch (attributes->text_type) {
	case TEXT_ASCII:
		return attributes->text;
	case TEXT_WIDE:
		narrow(attributes->text, buffer, room);
		return buffer;
	case TEXT_REGISTERED:
		return ((const struct named *)attributes->text)->text;
	default:
		return "";
	}
}

static const char *domain_name(const struct named *domain)
{
	return domain != NULL ? domain->text : "";
}

static int push(const struct named *domain, const char *name)
{
	if (name == NULL)
		name = "";
	pushed.depth++;
	if (pushed.captured == 0 && capture_range_is_named(name)) {
		pushed.captured = pushed.depth;
		trace_captures(true);
	}
	if (pushed.depth == 1)
		pushed.ticket = nvtx_ranges_begin(domain_name(domain), name, hp_now_ns());
	return NO_TRACKING;
}

static int pop(void)
{
	if (pushed.depth == 0)
		return NO_TRACKING;
	if (pushed.depth == 1)
		nvtx_ranges_end(pushed.ticket, hp_now_ns());
	if (pushed.depth == pushed.captured) {
		pushed.captured = 0;
		trace_captures(false);
	}
	pushed.depth--;
	return NO_TRACKING;
}

/* A range that starts inside a pushed range is not an outermost one. */
static uint64_t start(const struct named *domain, const char *name)
{
	uint64_t ticket = 0;

	if (name == NULL)
		name = "";
	if (capture_range_is_named(name)) {
		ticket = CAPTURES;
		trace_captures(true);
	}
	if (pushed.depth == 0)
		ticket |= nvtx_ranges_begin(domain_name(domain), name, hp_now_ns());
	return ticket;
}

static void end(uint64_t ticket)
{
	nvtx_ranges_end(ticket & ~CAPTURES, hp_now_ns());
	if (ticket & CAPTURES)
		trace_captures(false);
}

static uint64_t range_start(const char *name)
{
	return start(NULL, name);
}

static uint64_t range_start_wide(const wchar_t *name)
{
	char buffer[TEXT_MOST];

	narrow(name, buffer, sizeof(buffer));
	return start(NULL, buffer);
}

static int range_push(const char *name)
{
	return push(NULL, name);
}

static int range_push_wide(const wchar_t *name)
{
	char buffer[TEXT_MOST];

	narrow(name, buffer, sizeof(buffer));
	return push(NULL, buffer);
}

static uint64_t domain_range_start_ex(const struct named *domain,
				      const struct attributes *attributes)
{
	char buffer[TEXT_MOST];

	return start(domain, text_of(attributes, buffer, sizeof(buffer)));
}

static uint64_t range_start_ex(const struct attributes *attributes)
{
	return domain_range_start_ex(NULL, attributes);
}

static void domain_range_end(const struct named *domain, uint64_t ticket)
{
	(void)domain;
	end(ticket);
}

static int domain_range_push_ex(const struct named *domain, const struct attributes *attributes)
{
	char buffer[TEXT_MOST];

	return push(domain, text_of(attributes, buffer, sizeof(buffer)));
}

static int range_push_ex(const struct attributes *attributes)
{
	return domain_range_push_ex(NULL, attributes);
}

static int domain_range_pop(const struct named *domain)
{
	(void)domain;
	return pop();
}

static struct named *name_it(const char *text)
{
	struct named *named = hp_arena_alloc(sizeof(*named));

	if (named != NULL && text != NULL)
		snprintf(named->text, sizeof(named->text), "%s", text);
	return named;
}

/* For registered strings and for names of domains. */
static struct named *name_it_wide(const wchar_t *text)
{
	char buffer[TEXT_MOST];

	narrow(text, buffer, sizeof(buffer));
	return name_it(buffer);
}

static struct named *register_string(const struct named *domain, const char *text)
{
	(void)domain;
	return name_it(text);
}

static struct named *register_string_wide(const struct named *domain, const wchar_t *text)
{
	(void)domain;
	return name_it_wide(text);
}

struct slot {
	unsigned number;
	void *function;
};

static void put(const struct callbacks *callbacks, int module, const struct slot *slots,
		size_t count)
{
	void ***table;
	unsigned there = 0;

	if (callbacks->get_module(module, &table, &there) == 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (slots[i].number < there && table[slots[i].number] != NULL)
			*table[slots[i].number] = slots[i].function;
}

bool nvtx_install(const void *(*get_table)(uint32_t id))
{
	const struct slot core[] = {
		{ 4, range_start_ex }, { 5, range_start }, { 6, range_start_wide }, { 7, end },
		{ 8, range_push_ex },  { 9, range_push },  { 10, range_push_wide }, { 11, pop },
	};
	const struct slot core2[] = {
		{ 2, domain_range_start_ex },
		{ 3, domain_range_end },
		{ 4, domain_range_push_ex },
		{ 5, domain_range_pop },
		{ 10, register_string },
		{ 11, register_string_wide },
		{ 12, name_it },
		{ 13, name_it_wide },
	};

	if (!trace_wanted())
		return false;
	const struct callbacks *callbacks = get_table(TABLE_CALLBACKS);
	if (callbacks == NULL || callbacks->bytes < sizeof(*callbacks))
		return false;
	put(callbacks, MODULE_CORE, core, HP_LEN(core));
	put(callbacks, MODULE_CORE2, core2, HP_LEN(core2));
	return true;
}
