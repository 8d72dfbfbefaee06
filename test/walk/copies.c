/*
 * copies.c - steps that copy in every way, and when CUDA allows access to both sides again.
 *
 * The rules are those of "API synchronization behavior" (CUDA driver API); where that leaves a
 * choice, the worse case is assumed.
 */
#include "walk.h"

#include <string.h>

/* How a copy accesses its host side. */
enum side {
	S_DEVICE,   /* in stream order */
	S_PAGEABLE, /* by the call itself */
	S_PINNED,   /* by the device, in stream order */
	S_EITHER,   /* by the call or later, without a guarantee */
	S_REFUSED,  /* begins in a registration and ends outside: error 1 */
	S_UNKNOWN,  /* unknown on a device */
};

static enum side side_of(const struct buffer *b, size_t lo, size_t hi)
{
	if (!b->host)
		return S_DEVICE;
	if (b->where == W_PINNED)
		return S_PINNED;
	if (b->where == W_MANAGED)
		return S_EITHER;
	if (b->pin_hi == 0 || hi + PAGE <= b->pin_lo || lo >= b->pin_hi + PAGE)
		return S_PAGEABLE;
	if (lo >= b->pin_lo && hi <= b->pin_hi)
		return S_PINNED;
	/* A driver registers whole pages, so the surroundings of a boundary are avoided. */
	if (lo >= b->pin_lo && lo + PAGE <= b->pin_hi && hi >= b->pin_hi + PAGE)
		return S_REFUSED;
	if (lo + PAGE <= b->pin_lo && hi >= b->pin_lo + PAGE)
		return S_EITHER;
	return S_UNKNOWN;
}

struct half {
	struct buffer *buffer;
	size_t lo, hi;
	bool whole; /* each byte of the range is read or written */
	enum side side;
};

/*
 * If the copy's own stream is empty, a driver reads 4 KiB or less of pinned memory immediately,
 * even if a kernel on the legacy stream has yet to write it
 * (doc/measurements.md#pinned-read-early).  The stand-in does the same.
 */
static bool is_touched_in_turn(const struct half *half, bool write)
{
	return half->side == S_DEVICE || (half->side == S_PINNED && write);
}

static bool half_may(const struct target *to, const struct half *half, bool write)
{
	if (half->side == S_REFUSED)
		return !p.frozen;
	if (!is_touched_in_turn(half, write) && !host_may(half->buffer, half->lo, half->hi, write))
		return false;
	return line_may(to, half->buffer, half->lo, half->hi, write);
}

static bool may(const struct target *to, const struct half *from, const struct half *into)
{
	if (from->side == S_UNKNOWN || into->side == S_UNKNOWN)
		return false;
	if (from->buffer == into->buffer && from->lo < into->hi && into->lo < from->hi)
		return false;
	/* Ordering one side cannot invalidate the other: clocks only grow. */
	if (!half_may(to, from, false) || !half_may(to, into, true))
		return false;
	if (from->buffer->host)
		buffer_define(from->buffer, 0, 0, false);
	if (into->buffer->host)
		buffer_define(into->buffer, into->lo, into->hi,
			      into->whole && from->side != S_REFUSED && into->side != S_REFUSED);
	return true;
}

static void half_done(const struct half *half, int line, unsigned index, bool write)
{
	if (half->side != S_PAGEABLE)
		access_add(half->buffer, line, index, half->lo, half->hi, write);
}

/* Records which accesses are complete when the call has returned, and which are pending. */
static void done(const struct target *to, bool asynchronous, const struct half *from,
		 const struct half *into, bool linear)
{
	size_t bytes = from->hi - from->lo;
	unsigned index;

	if (from->side == S_REFUSED || into->side == S_REFUSED) {
		line_touch(to->line);
		return;
	}
	struct clock own = p.line[to->line].clock;

	index = line_push(to->line);
	half_done(from, to->line, index, false);
	half_done(into, to->line, index, true);
	if (from->side == S_EITHER || into->side == S_EITHER)
		return;
	if (from->side == S_PAGEABLE && into->side == S_DEVICE) {
		if (!asynchronous)
			line_uploaded(to->line, &own, stand_in && linear && bytes <= 64 * KIB);
	} else if (from->side == S_DEVICE && into->side == S_PAGEABLE) {
		line_over(to->line);
	} else if (!asynchronous && (from->side == S_DEVICE) != (into->side == S_DEVICE)) {
		line_over(to->line);
	}
}

static bool is_far(const struct buffer *b)
{
	return !b->host && b->context != my_context();
}

/* Prints the call for readers: its function and its stream. */
static void linear(const struct target *to, bool asynchronous, const struct half *from,
		   const struct half *into)
{
	const struct buffer *a = from->buffer, *b = into->buffer;
	size_t bytes = from->hi - from->lo;
	char *source = a->host ? a->at + from->lo : NULL;
	char *sink = b->host ? b->at + into->lo : NULL;
	CUdeviceptr there = a->host ? (CUdeviceptr)source : a->there + from->lo;
	CUdeviceptr here = b->host ? (CUdeviceptr)sink : b->there + into->lo;
	const struct driver *d = &cu[to->flavor];
	bool uva = (a->host && b->host) || a->where == W_MANAGED || b->where == W_MANAGED ||
		   is_far(a) || is_far(b) || one_in(5);
	bool peer = !a->host && !b->host && one_in(3);
	const char *name;
	CUresult rc;

	errno = 77;
	if (peer && asynchronous) {
		name = "cuMemcpyPeerAsync";
		rc = d->cuMemcpyPeerAsync(here, p.context[b->context], there, p.context[a->context],
					  bytes, to->handle);
	} else if (peer) {
		name = "cuMemcpyPeer";
		rc = d->cuMemcpyPeer(here, p.context[b->context], there, p.context[a->context],
				     bytes);
	} else if (uva && asynchronous) {
		name = "cuMemcpyAsync";
		rc = d->cuMemcpyAsync(here, there, bytes, to->handle);
	} else if (uva) {
		name = "cuMemcpy";
		rc = d->cuMemcpy(here, there, bytes);
	} else if (a->host && asynchronous) {
		name = "cuMemcpyHtoDAsync";
		rc = d->cuMemcpyHtoDAsync_v2(here, source, bytes, to->handle);
	} else if (a->host) {
		name = "cuMemcpyHtoD";
		rc = d->cuMemcpyHtoD_v2(here, source, bytes);
	} else if (b->host && asynchronous) {
		name = "cuMemcpyDtoHAsync";
		rc = d->cuMemcpyDtoHAsync_v2(sink, there, bytes, to->handle);
	} else if (b->host) {
		name = "cuMemcpyDtoH";
		rc = d->cuMemcpyDtoH_v2(sink, there, bytes);
	} else if (asynchronous) {
		name = "cuMemcpyDtoDAsync";
		rc = d->cuMemcpyDtoDAsync_v2(here, there, bytes, to->handle);
	} else {
		name = "cuMemcpyDtoD";
		rc = d->cuMemcpyDtoD_v2(here, there, bytes);
	}
	told(rc, errno, "%s(%c%d+%zu, %c%d+%zu, %zu, %s l%d)", name, b->host ? 'h' : 'd', b->number,
	     into->lo, a->host ? 'h' : 'd', a->number, from->lo, bytes, to->name, to->line);
}

/* Chooses two buffers for a copy; false if there are none. */
static bool pair(struct buffer **from, struct buffer **into, bool with_device)
{
	struct buffer *host = some_host(), *device = some_device(my_context());
	unsigned which = below(with_device ? 8 : 10);

	/* With unified addressing, a copy may access another context. */
	if (!with_device && one_in(8) && p.legacy[1] >= 0)
		device = &p.device[below(DEVICES)];
	if (device != NULL && device->where == W_NOWHERE)
		device = NULL;

	*from = host;
	*into = device;
	if (which >= 4) {
		*from = device;
		*into = host;
	}
	if (which == 8)
		*into = some_device(my_context());
	if (which == 9)
		*from = some_host();
	return *from != NULL && *into != NULL;
}

void step_copy(void)
{
	bool asynchronous = one_in(3);
	struct target to = asynchronous ? some_target() : sync_target(one_in(4));
	struct half from = { .whole = true }, into = { .whole = true };
	size_t bytes;

	if (!pair(&from.buffer, &into.buffer, false))
		return;
	some_range(from.buffer, &from.lo, &from.hi);
	bytes = from.hi - from.lo;
	if (one_in(3) && bytes > into.buffer->bytes / 2 + 1)
		bytes = into.buffer->bytes;
	if (bytes > into.buffer->bytes)
		bytes = into.buffer->bytes;
	if (bytes > from.buffer->bytes - from.lo)
		bytes = from.buffer->bytes - from.lo;
	if (one_in(60))
		bytes = 0;
	from.hi = from.lo + bytes;
	into.lo = one_in(2) ? 0 : below(into.buffer->bytes - bytes + 1);
	into.hi = into.lo + bytes;
	from.side = side_of(from.buffer, from.lo, from.hi);
	into.side = side_of(into.buffer, into.lo, into.hi);
	/* The order in which the host's bytes are moved is undefined. */
	if (from.buffer->host && into.buffer->host) {
		from.side = from.side < S_REFUSED ? S_EITHER : from.side;
		into.side = into.side < S_REFUSED ? S_EITHER : into.side;
	}
	if (bytes == 0)
		from.side = into.side = S_REFUSED;
	if (!may(&to, &from, &into))
		return;
	linear(&to, asynchronous, &from, &into);
	done(&to, asynchronous, &from, &into, true);
}

/*
 * Uploads and downloads the same block until it is worth pinning; no other step reaches this state.
 */
void step_heat(void)
{
	struct target to = sync_target(one_in(8));
	struct buffer *host = some_host(), *device = some_device(my_context());
	unsigned turns = p.hot ? 16 : 4;

	turns += (unsigned)below(turns);
	if (host == NULL || device == NULL || host->where == W_MANAGED || p.frozen)
		return;
	struct half mine = { .buffer = host, .whole = true };
	struct half theirs = { .buffer = device, .whole = true, .side = S_DEVICE };
	mine.hi = theirs.hi = host->bytes < device->bytes ? host->bytes : device->bytes;
	mine.side = side_of(host, 0, mine.hi);
	for (unsigned i = 0; i < turns; i++) {
		bool down = one_in(3);
		const struct half *from = down ? &theirs : &mine, *into = down ? &mine : &theirs;

		if (!may(&to, from, into))
			return;
		linear(&to, false, from, into);
		done(&to, false, from, into, true);
	}
}

/* Uploads parts in succession; only the end of each copy orders the kernel that follows it. */
void step_pipeline(void)
{
	struct buffer *host = some_host(), *device = some_device(my_context());
	struct target up = sync_target(one_in(3)), work = some_target();
	size_t parts = 2 + below(3), bytes;

	if (host == NULL || device == NULL || host->where == W_MANAGED || p.frozen)
		return;
	bytes = (host->bytes < device->bytes ? host->bytes : device->bytes) / parts & ~(size_t)7;
	if (bytes > 32 * KIB)
		bytes = 32 * KIB;
	for (size_t i = 0; i < parts && bytes != 0; i++) {
		struct half from = { host, i * bytes, (i + 1) * bytes, true, S_DEVICE };
		struct half into = { device, i * bytes, (i + 1) * bytes, true, S_DEVICE };

		from.side = side_of(host, from.lo, from.hi);
		if (!may(&up, &from, &into))
			return;
		linear(&up, false, &from, &into);
		done(&up, false, &from, &into, true);
		kernel_xor_at(&work, device, into.lo, into.hi);
		progress();
		/* The part has been read, so it may be overwritten. */
		if (host_may(host, from.lo, from.hi, true))
			fill(host->at + from.lo, bytes, draw());
	}
}

/* Data that one context uploaded is used from another one, ordered by nothing else. */
void step_across(void)
{
	struct buffer *host = some_host(), *device = some_device(my_context()), *next;
	struct target up = sync_target(one_in(3)), on;
	struct half from = { host, .whole = true }, into = { device, .whole = true };
	struct half again = { device, .whole = true }, end = { .whole = true };
	int other = !my_context();
	bool asynchronous = one_in(2);

	if (p.legacy[1] < 0) {
		step_context();
		return;
	}
	if (p.frozen || host == NULL || device == NULL || host->where == W_MANAGED ||
	    host->pin_hi != 0)
		return;
	from.hi = host->bytes < device->bytes ? host->bytes : device->bytes;
	from.hi = into.hi = again.hi = from.hi < 16 * KIB ? from.hi : 16 * KIB;
	from.side = side_of(host, 0, from.hi);
	if (!may(&up, &from, &into))
		return;
	linear(&up, false, &from, &into);
	done(&up, false, &from, &into, true);
	SAY(cu[0].cuCtxSetCurrent(p.context[other]), "cuCtxSetCurrent(c%d)", other);
	p.threads[p.thread].context = other;
	next = some_device(other);
	if (next == NULL || one_in(2))
		next = some_host();
	if (next == NULL || next->where == W_MANAGED || next->pin_hi != 0 || next->bytes < again.hi)
		return;
	on = asynchronous ? some_target() : sync_target(one_in(4));
	end.buffer = next;
	end.hi = again.hi;
	end.side = side_of(next, 0, end.hi);
	if (!may(&on, &again, &end))
		return;
	linear(&on, asynchronous, &again, &end);
	done(&on, asynchronous, &again, &end, true);
}

/* A box in a buffer: its pitch, slice and first byte; false if there is no room. */
struct box {
	size_t at, x, y, pitch, rows;
};

static bool box_in(struct box *box, struct half *half, size_t width, size_t height, size_t depth)
{
	size_t extent;

	box->pitch = width + (one_in(2) ? 0 : below(200));
	box->rows = height + (one_in(2) ? 0 : below(3));
	box->x = one_in(2) ? 0 : below(box->pitch - width + 1);
	box->y = one_in(2) ? 0 : below(box->rows - height + 1);
	extent = ((depth - 1) * box->rows + box->y + height - 1) * box->pitch + box->x + width;
	if (extent > half->buffer->bytes)
		return false;
	box->at = below(half->buffer->bytes - extent + 1);
	half->lo = box->at + box->y * box->pitch + box->x;
	half->hi = box->at + extent;
	half->whole = false;
	/* The result for boxes that touch a registration is unknown on a device. */
	half->side =
		half->buffer->pin_hi != 0 ? S_UNKNOWN : side_of(half->buffer, half->lo, half->hi);
	return true;
}

#define FILL_SIDE(c, which, half, box)                                         \
	do {                                                                   \
		if ((half)->buffer->host) {                                    \
			(c).which##MemoryType = CU_MEMORYTYPE_HOST;            \
			(c).which##Host = (half)->buffer->at + (box)->at;      \
		} else {                                                       \
			(c).which##MemoryType = CU_MEMORYTYPE_DEVICE;          \
			(c).which##Device = (half)->buffer->there + (box)->at; \
		}                                                              \
		(c).which##XInBytes = (box)->x;                                \
		(c).which##Y = (box)->y;                                       \
		(c).which##Pitch = (box)->pitch;                               \
	} while (0)

static CUresult call_2d(const struct target *to, bool asynchronous, const struct half *from,
			const struct half *into, const struct box boxes[2], size_t width,
			size_t height)
{
	CUDA_MEMCPY2D c = { .WidthInBytes = width, .Height = height };

	FILL_SIDE(c, src, from, &boxes[0]);
	FILL_SIDE(c, dst, into, &boxes[1]);
	if (asynchronous)
		return cu[to->flavor].cuMemcpy2DAsync_v2(&c, to->handle);
	return one_in(2) ? cu[to->flavor].cuMemcpy2D_v2(&c)
			 : cu[to->flavor].cuMemcpy2DUnaligned_v2(&c);
}

static CUresult call_3d(const struct target *to, bool asynchronous, const struct half *from,
			const struct half *into, const struct box boxes[2], size_t width,
			size_t height, size_t depth)
{
	CUDA_MEMCPY3D c = { .WidthInBytes = width, .Height = height, .Depth = depth };

	FILL_SIDE(c, src, from, &boxes[0]);
	FILL_SIDE(c, dst, into, &boxes[1]);
	c.srcHeight = boxes[0].rows;
	c.dstHeight = boxes[1].rows;
	return asynchronous ? cu[to->flavor].cuMemcpy3DAsync_v2(&c, to->handle)
			    : cu[to->flavor].cuMemcpy3D_v2(&c);
}
#undef FILL_SIDE

void step_copy_box(void)
{
	bool asynchronous = one_in(3);
	struct target to = asynchronous ? some_target() : sync_target(one_in(4));
	struct half from = { 0 }, into = { 0 };
	struct box boxes[2];
	size_t width, height, depth = one_in(2) ? 1 : 1 + below(4), room;

	if (!pair(&from.buffer, &into.buffer, true) || from.buffer->where == W_MANAGED ||
	    into.buffer->where == W_MANAGED)
		return;
	room = from.buffer->bytes < into.buffer->bytes ? from.buffer->bytes : into.buffer->bytes;
	width = some_size(1, room / 4 + 1);
	height = 1 + below(room / width / depth + 1);
	if (height > 200)
		height = 200;
	if (!box_in(&boxes[0], &from, width, height, depth) ||
	    !box_in(&boxes[1], &into, width, height, depth) || !may(&to, &from, &into))
		return;
	errno = 77;
	CUresult rc =
		depth == 1 && one_in(2)
			? call_2d(&to, asynchronous, &from, &into, boxes, width, height)
			: call_3d(&to, asynchronous, &from, &into, boxes, width, height, depth);
	told(rc, errno, "cuMemcpyBox%s(%c%d+%zu by %zu, %c%d+%zu by %zu, %zux%zux%zu, %s l%d)",
	     asynchronous ? "Async" : "", into.buffer->host ? 'h' : 'd', into.buffer->number,
	     boxes[1].at, boxes[1].pitch, from.buffer->host ? 'h' : 'd', from.buffer->number,
	     boxes[0].at, boxes[0].pitch, width, height, depth, to.name, to.line);
	done(&to, asynchronous, &from, &into, false);
}

/* Copies between an array and any kind of memory; rows, if the array has some. */
void step_array(void)
{
	bool asynchronous = one_in(3), up = one_in(2), on_device = one_in(4);
	struct target to = asynchronous ? some_target() : sync_target(one_in(4));
	struct buffer *other = on_device ? some_device(my_context()) : some_host();
	struct buffer *array = some_array();
	const struct driver *d = &cu[to.flavor];
	struct half mine = { .buffer = array, .side = S_DEVICE }, theirs = { .buffer = other };
	size_t first, bytes, rows = 1;
	CUresult rc;

	if (array == NULL || other == NULL || other->where == W_MANAGED || other->pin_hi != 0)
		return;
	bytes = array->bytes < other->bytes ? array->bytes : other->bytes;
	if (array->rows != 0) {
		if (other->bytes < array->width)
			return;
		rows = other->bytes / array->width;
		rows = 1 + below(rows < array->rows ? rows : array->rows);
		bytes = rows * array->width;
	}
	first = array->rows != 0 ? 0 : below(array->bytes - bytes + 1);
	mine.lo = first;
	mine.hi = first + bytes;
	theirs.hi = bytes;
	theirs.side = side_of(other, 0, bytes);
	const struct half *from = up ? &theirs : &mine, *into = up ? &mine : &theirs;
	if (!may(&to, from, into))
		return;
	errno = 77;
	if (array->rows != 0 || (on_device && asynchronous)) {
		CUDA_MEMCPY2D c = { .WidthInBytes = array->rows != 0 ? array->width : bytes,
				    .Height = rows };

		c.srcMemoryType = up ? on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST
				     : CU_MEMORYTYPE_ARRAY;
		c.dstMemoryType = !up ? on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST
				      : CU_MEMORYTYPE_ARRAY;
		c.srcHost = c.dstHost = other->at;
		c.srcDevice = c.dstDevice = other->there;
		c.srcArray = c.dstArray = array->array;
		c.srcPitch = c.dstPitch = c.WidthInBytes;
		*(up ? &c.dstXInBytes : &c.srcXInBytes) = first;
		rc = asynchronous ? d->cuMemcpy2DAsync_v2(&c, to.handle) : d->cuMemcpy2D_v2(&c);
	} else if (on_device) {
		rc = up ? d->cuMemcpyDtoA_v2(array->array, first, other->there, bytes)
			: d->cuMemcpyAtoD_v2(other->there, array->array, first, bytes);
	} else if (asynchronous) {
		rc = up ? d->cuMemcpyHtoAAsync_v2(array->array, first, other->at, bytes, to.handle)
			: d->cuMemcpyAtoHAsync_v2(other->at, array->array, first, bytes, to.handle);
	} else {
		rc = up ? d->cuMemcpyHtoA_v2(array->array, first, other->at, bytes)
			: d->cuMemcpyAtoH_v2(other->at, array->array, first, bytes);
	}
	told(rc, errno, "cuMemcpyArray%s(a%d+%zu %s %c%d, %zu in %zu rows, %s l%d)",
	     asynchronous ? "Async" : "", array->number, first, up ? "from" : "to",
	     other->host ? 'h' : 'd', other->number, bytes, rows, to.name, to.line);
	done(&to, asynchronous, from, into, false);
}

/*
 * Makes several copies at once, without order among themselves: no buffer is used twice.  A batch
 * reads its sources in stream order, so pageable ones may be read after the call, too.
 */
void step_batch(void)
{
	struct target to = some_target();
	struct half from[3], into[3];
	CUdeviceptr source[3], sink[3];
	size_t bytes[3], count = 1 + below(3), index = 0, made = 0;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };

	if (p.line[to.line].legacy || p.frozen)
		return;
	for (size_t i = 0; i < count; i++) {
		struct half *f = &from[made], *t = &into[made];
		bool again = false;

		/* A refused copy does not write, so it may not leave memory undefined. */
		*f = *t = (struct half){ 0 };
		if (!pair(&f->buffer, &t->buffer, true))
			return;
		for (size_t j = 0; j < made; j++)
			again = again || f->buffer == from[j].buffer ||
				f->buffer == into[j].buffer || t->buffer == from[j].buffer ||
				t->buffer == into[j].buffer;
		if (again || f->buffer->where == W_MANAGED || t->buffer->where == W_MANAGED ||
		    f->buffer->pin_hi != 0 || t->buffer->pin_hi != 0)
			continue;
		f->hi = t->hi =
			f->buffer->bytes < t->buffer->bytes ? f->buffer->bytes : t->buffer->bytes;
		f->side = f->buffer->host ? S_EITHER : S_DEVICE;
		t->side = t->buffer->host ? S_EITHER : S_DEVICE;
		if (!may(&to, f, t))
			continue;
		source[made] = f->buffer->host ? (CUdeviceptr)f->buffer->at : f->buffer->there;
		sink[made] = t->buffer->host ? (CUdeviceptr)t->buffer->at : t->buffer->there;
		bytes[made++] = f->hi;
	}
	if (made == 0)
		return;
	CUresult rc = SAY(cu[to.flavor].cuMemcpyBatchAsync_v2(sink, source, bytes, made, &how,
							      &index, 1, to.handle),
			  "cuMemcpyBatchAsync(%c%d from %c%d, ..., %zu, %s l%d)",
			  into[0].buffer->host ? 'h' : 'd', into[0].buffer->number,
			  from[0].buffer->host ? 'h' : 'd', from[0].buffer->number, made, to.name,
			  to.line);
	/* A refused batch has no order, and a wait for it waits for nothing. */
	if (rc != CUDA_SUCCESS)
		line_touch(to.line);
	for (size_t i = 0; i < made && rc == CUDA_SUCCESS; i++)
		done(&to, true, &from[i], &into[i], true);
}
