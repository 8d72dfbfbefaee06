/*
 * work.c - work that runs on streams during copies.
 */
#include "walk.h"

#include <string.h>

/* Enqueues one operation of the target that accesses a range of one buffer. */
static void one_access(const struct target *to, struct buffer *b, size_t lo, size_t hi, bool write)
{
	access_add(b, to->line, line_push(to->line), lo, hi, write);
}

void step_memset(void)
{
	struct buffer *b = some_device(my_context());
	bool asynchronous = one_in(2);
	struct target to = asynchronous ? some_target() : sync_target(one_in(4));
	int f = to.flavor;
	size_t lo, hi, words;

	if (b == NULL)
		return;
	some_range(b, &lo, &hi);
	lo &= ~(size_t)3;
	words = (hi - lo) / 4;
	if (words == 0 || !line_may(&to, b, lo, hi, true))
		return;
	switch (below(5)) {
	case 4:
		to = some_target();
		if (!line_may(&to, b, lo, lo + 4, true))
			return;
		SAY(cu[to.flavor].cuStreamWriteValue32_v2(to.handle, b->there + lo,
							  (unsigned)below(256), 0),
		    "cuStreamWriteValue32(%s l%d, d%d+%zu)", to.name, to.line, b->number, lo);
		hi = lo + 4;
		break;
	case 0:
	case 1: {
		unsigned char value = (unsigned char)below(256);

		if (asynchronous)
			SAY(cu[f].cuMemsetD8Async(b->there + lo, value, hi - lo, to.handle),
			    "cuMemsetD8Async(d%d+%zu, %d, %zu, %s l%d)", b->number, lo, value,
			    hi - lo, to.name, to.line);
		else
			SAY(cu[f].cuMemsetD8_v2(b->there + lo, value, hi - lo),
			    "cuMemsetD8(d%d+%zu, %d, %zu, %s)", b->number, lo, value, hi - lo,
			    to.name);
		break;
	}
	case 2: {
		unsigned value = (unsigned)draw();

		if (asynchronous)
			SAY(cu[f].cuMemsetD32Async(b->there + lo, value, words, to.handle),
			    "cuMemsetD32Async(d%d+%zu, %u, %zu, %s l%d)", b->number, lo, value,
			    words, to.name, to.line);
		else
			SAY(cu[f].cuMemsetD32_v2(b->there + lo, value, words),
			    "cuMemsetD32(d%d+%zu, %u, %zu, %s)", b->number, lo, value, words,
			    to.name);
		break;
	}
	default: {
		size_t width = 1 + below(hi - lo), pitch = width + below(64);
		size_t height = 1 + (hi - lo - width) / pitch;

		if (height > 64)
			height = 64;
		to = sync_target(0);
		if (!line_may(&to, b, lo, hi, true))
			return;
		SAY(cu[0].cuMemsetD2D8_v2(b->there + lo, pitch, 7, width, height),
		    "cuMemsetD2D8(d%d+%zu, %zu, 7, %zu, %zu)", b->number, lo, pitch, width, height);
		break;
	}
	}
	one_access(&to, b, lo, hi, true);
}

/* Returns device memory, or other memory that a kernel can access. */
static struct buffer *reachable(void)
{
	if (one_in(4)) {
		struct buffer *b = some_host();

		if (b != NULL && (b->where == W_PINNED || b->where == W_MANAGED) &&
		    b->context == my_context())
			return b;
	}
	return some_device(my_context());
}

static CUdeviceptr address(const struct buffer *b)
{
	return b->host ? (CUdeviceptr)b->at : b->there;
}

static uint64_t some_time(void)
{
	static const uint64_t times[] = { 0, 0, 1000, 20000, 100000 };

	return times[below(5)];
}

static void words_of(const struct buffer *b, size_t *lo, size_t *hi)
{
	some_range(b, lo, hi);
	*lo &= ~(size_t)7;
	if (*hi - *lo > 64 * KIB)
		*hi = *lo + 64 * KIB;
	*hi = *lo + (*hi - *lo) / 8 * 8;
}

static void kernel_mix(const struct target *to, struct buffer *out, struct buffer *in)
{
	size_t lo, hi, from;
	uint64_t words, ns = some_time();
	unsigned index;

	words_of(out, &lo, &hi);
	if (hi - lo > in->bytes)
		hi = lo + in->bytes / 8 * 8;
	if (hi == lo)
		return;
	from = below((in->bytes - (hi - lo)) / 8 + 1) * 8;
	buffer_define(out, 0, 0, false);
	buffer_define(in, 0, 0, false);
	if (out == in || !line_may(to, out, lo, hi, true) ||
	    !line_may(to, in, from, from + hi - lo, false))
		return;
	words = (hi - lo) / 8;
	CUdeviceptr there = address(out) + lo, source = address(in) + from;
	void *arguments[] = { &there, &source, &words, &ns };
	SAY(cu[to->flavor].cuLaunchKernel(p.kernel[my_context()][K_MIX], 1 + below(8), 1, 1, 64, 1,
					  1, 0, to->handle, arguments, NULL),
	    "mix<<<%s l%d>>>(%c%d+%zu, %c%d+%zu, %llu, %llu ns)", to->name, to->line,
	    out->host ? 'h' : 'd', out->number, lo, in->host ? 'h' : 'd', in->number, from,
	    (unsigned long long)words, (unsigned long long)ns);
	index = line_push(to->line);
	access_add(out, to->line, index, lo, hi, true);
	access_add(in, to->line, index, from, from + hi - lo, false);
}

void kernel_xor_at(const struct target *to, struct buffer *b, size_t lo, size_t hi)
{
	uint64_t words, key = draw(), ns = some_time();

	buffer_define(b, 0, 0, false);
	if (hi == lo || !line_may(to, b, lo, hi, true))
		return;
	words = (hi - lo) / 8;
	CUdeviceptr there = address(b) + lo;
	void *arguments[] = { &there, &words, &key, &ns };
	SAY(cu[to->flavor].cuLaunchKernel(p.kernel[my_context()][K_XOR], 1 + below(8), 1, 1, 64, 1,
					  1, 0, to->handle, arguments, NULL),
	    "xor<<<%s l%d>>>(%c%d+%zu, %llu, %llu ns)", to->name, to->line, b->host ? 'h' : 'd',
	    b->number, lo, (unsigned long long)words, (unsigned long long)ns);
	one_access(to, b, lo, hi, true);
}

static void kernel_xor(const struct target *to, struct buffer *b)
{
	size_t lo, hi;

	words_of(b, &lo, &hi);
	kernel_xor_at(to, b, lo, hi);
}

void step_kernel(void)
{
	struct target to = some_target();
	struct buffer *b = reachable(), *other = reachable();

	if (b == NULL)
		return;
	if (other != NULL && one_in(3))
		kernel_mix(&to, b, other);
	else
		kernel_xor(&to, b);
}

void step_spin(void)
{
	struct target to = some_target();
	uint64_t ns = 10000 + below(200000);
	void *arguments[] = { &ns };

	SAY(cu[to.flavor].cuLaunchKernel(p.kernel[my_context()][K_SPIN], 1, 1, 1, 1, 1, 1, 0,
					 to.handle, arguments, NULL),
	    "spin<<<%s l%d>>>(%llu ns)", to.name, to.line, (unsigned long long)ns);
	line_push(to.line);
}

/* The actions of host functions, valid for the rest of the program. */
static struct cell {
	char *at;
	size_t bytes;
	uint64_t key;
} cells[CELLS];

void callback_run(void *data)
{
	struct cell *cell = data;

	for (size_t i = 0; i < cell->bytes; i++)
		cell->at[i] = (char)(cell->at[i] * 5 + (char)(cell->key + i));
}

static void CUDA_CB stream_callback(CUstream stream, CUresult status, void *data)
{
	(void)stream;
	(void)status;
	callback_run(data);
}

void *callback_cell(struct buffer *b, size_t lo, size_t hi)
{
	struct cell *cell = &cells[p.cells++];

	*cell = (struct cell){ b->at + lo, hi - lo, draw() };
	return cell;
}

void step_callback(void)
{
	struct target to = some_target();
	struct buffer *b = some_host();
	size_t lo, hi;

	if (b == NULL || p.cells == CELLS || !p.calls_back)
		return;
	some_range(b, &lo, &hi);
	if (hi - lo > 4 * KIB)
		hi = lo + 4 * KIB;
	buffer_define(b, 0, 0, false);
	if (!line_may(&to, b, lo, hi, true))
		return;
	void *cell = callback_cell(b, lo, hi);
	if (one_in(2))
		SAY(cu[to.flavor].cuLaunchHostFunc(to.handle, callback_run, cell),
		    "cuLaunchHostFunc(%s l%d, h%d+%zu, %zu)", to.name, to.line, b->number, lo,
		    hi - lo);
	else
		SAY(cu[to.flavor].cuStreamAddCallback(to.handle, stream_callback, cell, 0),
		    "cuStreamAddCallback(%s l%d, h%d+%zu, %zu)", to.name, to.line, b->number, lo,
		    hi - lo);
	one_access(&to, b, lo, hi, true);
}
