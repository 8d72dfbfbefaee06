/*
 * model.c - the order in which operations complete, as far as CUDA guarantees it.
 *
 * Vector clocks: one entry for each stream, and one for the host, whose threads take turns.  Edges
 * are those of "API synchronization behavior", of the legacy stream's implicit order, of events and
 * of waits.  Orders that only happen on some device are left out, with one exception: on the
 * stand-in, a copy of at most 64 KiB of pageable memory is complete when the call returns, unless
 * work of another stream delays it.  Programs rely on this; but on a device that several processes
 * share, even copies of 4 KiB were seen to complete later.
 */
#include "walk.h"

#include <string.h>

void clock_join(struct clock *to, const struct clock *from)
{
	for (int i = 0; i < p.lines; i++)
		if (to->at[i] < from->at[i])
			to->at[i] = from->at[i];
}

bool clock_covers(const struct clock *clock, const struct clock *other)
{
	for (int i = 0; i < p.lines; i++)
		if (clock->at[i] < other->at[i])
			return false;
	return true;
}

int line_new(int context, bool legacy, bool blocking, int owner, CUstream handle)
{
	if (p.lines == LINES)
		return -1;
	p.line[p.lines] = (struct line){ .context = context,
					 .legacy = legacy,
					 .blocking = blocking,
					 .owner = owner,
					 .handle = handle,
					 .alive = true };
	return p.lines++;
}

unsigned line_count(int line)
{
	return p.line[line].clock.at[line];
}

/* CUDA C Programming Guide, implicit synchronization. */
struct clock line_before(int line)
{
	const struct line *l = &p.line[line];
	struct clock before = l->clock;

	clock_join(&before, &p.over);
	if (l->blocking)
		clock_join(&before, &p.line[p.legacy[l->context]].clock);
	for (int i = 0; l->legacy && i < p.lines; i++)
		if (p.line[i].context == l->context && p.line[i].blocking)
			clock_join(&before, &p.line[i].clock);
	return before;
}

unsigned line_push(int line)
{
	p.last = line;
	p.line[line].clock = line_before(line);
	return ++p.line[line].clock.at[line];
}

void line_touch(int line)
{
	p.line[line].clock.at[line]++;
}

void line_over(int line)
{
	clock_join(&p.over, &p.line[line].clock);
}

void line_uploaded(int line, const struct clock *own, bool over)
{
	struct clock before = p.line[line].clock;

	before.at[line]--;
	clock_join(&p.over, p.line[line].legacy ? &before : own);
	if (over && clock_covers(&p.over, &before))
		line_over(line);
}

static bool conflicts(const struct access *access, const struct clock *over, size_t lo, size_t hi,
		      bool write)
{
	return (write || access->write) && access->lo < hi && lo < access->hi &&
	       access->index > over->at[access->line];
}

static const struct access *conflict(const struct buffer *buffer, const struct clock *over,
				     size_t lo, size_t hi, bool write)
{
	for (unsigned i = 0; i < buffer->accesses; i++)
		if (conflicts(&buffer->access[i], over, lo, hi, write))
			return &buffer->access[i];
	return NULL;
}

static void forget_old(struct buffer *buffer)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < buffer->accesses; i++)
		if (buffer->access[i].index > p.over.at[buffer->access[i].line])
			buffer->access[kept++] = buffer->access[i];
	buffer->accesses = kept;
}

/* Waits for a whole context, called from any context. */
static void wait_context(int context)
{
	bool other = context != my_context();

	if (other)
		SAY(cu[0].cuCtxPushCurrent_v2(p.context[context]), "cuCtxPushCurrent(c%d)",
		    context);
	SAY(cu[0].cuCtxSynchronize(), "cuCtxSynchronize()");
	if (other)
		SAY(cu[0].cuCtxPopCurrent_v2(&(CUcontext){ NULL }), "cuCtxPopCurrent()");
	for (int i = 0; i < p.lines; i++)
		if (p.line[i].context == context)
			line_over(i);
}

static bool is_mine(int line)
{
	const struct line *l = &p.line[line];

	return l->alive && l->context == my_context() && (l->owner < 0 || l->owner == p.thread);
}

static CUstream handle_of(int line)
{
	const struct line *l = &p.line[line];

	return l->legacy ? CU_STREAM_LEGACY : l->owner >= 0 ? CU_STREAM_PER_THREAD : l->handle;
}

bool line_handle(int line, CUstream *ret)
{
	*ret = handle_of(line);
	return is_mine(line);
}

/* A synchronous copy waits for earlier work: programs rely on nothing else. */
static void wait_by_copy(int line)
{
	static char bytes[64];
	int context = p.line[line].context, flavor = p.line[line].owner >= 0;
	int on = flavor ? line : p.legacy[context];
	struct clock own = p.line[on].clock;
	size_t size = 1 + below(sizeof(bytes));
	bool up = !one_in(2);

	if (!up) {
		SAY(cu[flavor].cuMemcpyDtoH_v2(bytes, p.scratch[context].there, size),
		    "cuMemcpyDtoH%s(small, scratch, %zu)", flavor ? "_ptds" : "", size);
	} else {
		SAY(cu[flavor].cuMemcpyHtoD_v2(p.scratch[context].there, bytes, size),
		    "cuMemcpyHtoD%s(scratch, small, %zu)", flavor ? "_ptds" : "", size);
	}
	line_push(on);
	if (up)
		line_uploaded(on, &own, true);
	else
		line_over(on);
}

static void wait_by_event(int line)
{
	struct event *event = &p.spare[p.line[line].context];

	SAY(cu[0].cuEventRecord(event->handle, handle_of(line)), "cuEventRecord(spare, l%d)", line);
	SAY(cu[0].cuEventSynchronize(event->handle), "cuEventSynchronize(spare)");
	line_push(line);
	line_over(line);
}

/* The host waits for the stream, in one of the possible ways. */
static void wait_line(int line)
{
	unsigned how = below(8);

	if (!is_mine(line) || how == 0) {
		wait_context(p.line[line].context);
	} else if (how <= 2 && (p.line[line].blocking || p.line[line].legacy)) {
		wait_by_copy(line);
	} else if (how <= 4) {
		wait_by_event(line);
	} else {
		SAY(cu[0].cuStreamSynchronize(handle_of(line)), "cuStreamSynchronize(l%d)", line);
		line_over(line);
	}
}

bool host_may(struct buffer *buffer, size_t lo, size_t hi, bool write)
{
	const struct access *access;

	while ((access = conflict(buffer, &p.over, lo, hi, write)) != NULL) {
		if (p.frozen)
			return false;
		wait_line(access->line);
	}
	return true;
}

bool line_may(const struct target *to, struct buffer *buffer, size_t lo, size_t hi, bool write)
{
	for (;;) {
		struct clock before = line_before(to->line);
		const struct access *access = conflict(buffer, &before, lo, hi, write);

		if (access == NULL)
			return true;
		if (p.frozen)
			return false;
		if (!is_mine(access->line) || !is_mine(to->line) || one_in(3)) {
			wait_line(access->line);
			continue;
		}
		struct event *event = &p.spare[p.line[to->line].context];
		SAY(cu[0].cuEventRecord(event->handle, handle_of(access->line)),
		    "cuEventRecord(spare, l%d)", access->line);
		line_push(access->line);
		SAY(cu[0].cuStreamWaitEvent(handle_of(to->line), event->handle, 0),
		    "cuStreamWaitEvent(l%d, spare)", to->line);
		line_push(to->line);
		clock_join(&p.line[to->line].clock, &p.line[access->line].clock);
	}
}

void access_add(struct buffer *buffer, int line, unsigned index, size_t lo, size_t hi, bool write)
{
	if (buffer->accesses == ACCESSES)
		forget_old(buffer);
	if (buffer->accesses == ACCESSES) {
		/* The limit is part of the program, so the seed determines it. */
		if (p.frozen)
			fail("too many accesses");
		while (buffer->accesses == ACCESSES) {
			wait_line(buffer->access[0].line);
			forget_old(buffer);
		}
	}
	buffer->access[buffer->accesses++] = (struct access){ line, index, write, lo, hi };
}

bool buffer_idle(struct buffer *buffer)
{
	return host_may(buffer, 0, buffer->bytes, true);
}

void buffer_define(struct buffer *buffer, size_t lo, size_t hi, bool whole_write)
{
	if (buffer->defined)
		return;
	buffer->defined = true;
	if (whole_write && lo == 0 && hi == buffer->bytes)
		return;
	note("h%d is filled", buffer->number);
	fill(buffer->at, buffer->bytes, draw());
}
