/*
 * copies_batch.c - the exported functions that carry out several copies in one call.
 *
 * Each copy is looked at before the call and reported after it.  What touches a pinned block is
 * waited for as a whole, or unpinned where the batch goes into a graph.  Unpinning waits for every
 * kernel there is, which may wait for the program: copies of runs are cut where registrations end
 * instead.  If the driver would refuse one for its length, the blocks are unpinned nevertheless.
 *
 * Sources that are to be read before the call returns are not taken from pageable copies of ours,
 * as single uploads are: the driver returns at once, and is assumed to read them later
 * (doc/measurements.md#batch-source).
 */
#include "base/arena.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/protections.h"
#include "engine/arrays.h"
#include "engine/between.h"
#include "engine/copy.h"
#include "engine/stream.h"
#include "engine/unpin.h"
#include "engine/visibility.h"
#include "heap/range.h"
#include "pin/pin.h"
#include "pin/use.h"
#include "shim/driver/run.h"
#include "stage/stageable.h"

#if CUDA_VERSION >= 12080
struct batch {
	bool per_thread, captured, pinned;
	bool ours; /* a side lies in the heap's range: else nothing here has a part in it */
	CUstream stream;
	/* For the profile: the call's time is shared out evenly among its copies. */
	const void *frame;
	uint64_t enter_ns, each_ns;
};

static struct batch batch_begin(CUstream stream, bool per_thread, const void *frame)
{
	if (atomic_load(&state_captures) != 0)
		visibility_raise(REAL_SEEN_GRAPH);
	return (struct batch){
		.per_thread = per_thread,
		.captured = state_active() && atomic_load(&state_captures) > 0 &&
			    stream_is_captured(stream, per_thread),
		.stream = stream,
		.frame = frame,
		.enter_ns = trace_active() ? hp_now_ns() : 0,
	};
}

static void batch_name(struct batch *batch, const void *address, size_t extent)
{
	if (heap_touches(address, extent))
		batch->ours = true;
}

/*
 * A range that begins in one of our registrations and ends outside is refused, which natively it is
 * not: where it could not be cut the block is unpinned, once and for all copies of the batch.
 */
static void batch_clear(struct batch *batch, const void *address, size_t extent)
{
	if (batch->captured ? hp_keeps(captured_unpinned)
			    : pin_crosses(address, extent) && hp_keeps(batch_cut))
		unpin_range(address, extent);
}

/* Again after it: another thread may have pinned a block meanwhile. */
static void batch_look(struct batch *batch, const void *address, size_t extent)
{
	batch->pinned |= !batch->captured && pin_covers_any(address, extent);
}

static void batch_report(struct batch *batch, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	struct copy_request copy = { .bytes = bytes };
	bool promoted = pin_covers_any((const void *)src, bytes) ||
			pin_covers_any((const void *)dst, bytes);

	/* An address of 0 is an array's. */
	request_between(&copy, dst != 0 ? dst : src, src != 0 ? src : dst);
	if (copy.direction == TRACE_H2H && (dst == 0 || src == 0))
		copy.direction = dst != 0 ? TRACE_D2H : src != 0 ? TRACE_H2D : TRACE_D2D;
	const struct block *block = range_find(copy.host);
	trace_copied(&(struct trace_copy){
		.direction = copy.direction,
		.memory = promoted ? TRACE_PROMOTED : TRACE_UNKNOWN,
		.host = copy.host,
		.allocator = block != NULL ? atomic_load(&block->site) : 0,
		.block_bytes = block != NULL ? atomic_load(&block->size) : 0,
		.captured = batch->captured,
		.bytes = bytes,
		.enter_ns = batch->enter_ns,
		.leave_ns = batch->enter_ns + batch->each_ns,
		.frame = batch->frame,
	});
	batch->enter_ns += batch->each_ns;
}

/* On NULL and the legacy stream there are no batches. */
static bool has_work(const struct batch *batch)
{
	return batch->stream != NULL && batch->stream != CU_STREAM_LEGACY &&
	       (stream_is_busy(batch->stream, batch->per_thread) ||
		stream_is_behind_legacy(batch->stream, batch->per_thread));
}

/* What the driver is given: the program's arrays, or ours, which are in `memory` then. */
struct runs {
	CUdeviceptr *to, *from;
	size_t *bytes, *indices, count;
	void *memory;
	size_t memory_bytes, copies;
	size_t *first; /* the first piece of each of the program's copies, and what comes behind */
};

/* How much of a copy can be named at once: in one registration of ours each side, or in none. */
static size_t piece_at(CUdeviceptr to, CUdeviceptr from, size_t most)
{
	const void *sides[] = { (const void *)to, (const void *)from };

	for (size_t i = 0; i < HP_LEN(sides); i++) {
		const struct block *block = range_find(sides[i]);
		size_t run = block != NULL && pin_covers_any(sides[i], 1)
				     ? range_run(block, sides[i])
				     : most;

		if (run != 0 && run < most)
			most = run;
	}
	return most;
}

/* Counts the pieces, and writes them down where ours has room for them. */
static size_t cut_runs(const struct runs *given, struct runs *ours)
{
	size_t pieces = 0;

	for (size_t i = 0; i < given->count; i++) {
		size_t done = 0;

		if (ours != NULL)
			ours->first[i] = pieces;
		do {
			size_t now = piece_at(given->to[i] + done, given->from[i] + done,
					      given->bytes[i] - done);

			if (ours != NULL && pieces < ours->count) {
				ours->to[pieces] = given->to[i] + done;
				ours->from[pieces] = given->from[i] + done;
				ours->bytes[pieces] = now;
			}
			pieces++;
			done += now;
		} while (done < given->bytes[i]);
	}
	return pieces;
}

static bool crosses(const struct runs *runs, size_t i)
{
	return pin_crosses((const void *)runs->from[i], runs->bytes[i]) ||
	       pin_crosses((const void *)runs->to[i], runs->bytes[i]);
}

static bool any_crosses(const struct runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		if (crosses(runs, i))
			return true;
	return false;
}

/* True if a side, unless it is a block's, is as long as the copy, as far as the driver can tell. */
static bool side_fits(CUdeviceptr side, size_t bytes)
{
	struct stage_copy copy = { .device = side, .shape = shape_of_run(bytes) };

	return heap_touches((const void *)side, bytes) || stage_fits(&copy);
}

/*
 * True if the driver refuses no copy that would be cut for its length.  It refuses such a copy as a
 * whole, and would take the first of its pieces.
 */
static bool all_fit(const struct runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		if (crosses(runs, i) && (!side_fits(runs->from[i], runs->bytes[i]) ||
					 !side_fits(runs->to[i], runs->bytes[i])))
			return false;
	return true;
}

static void runs_begin(struct runs *runs, const struct batch *batch, size_t kinds)
{
	if (batch->captured || runs->to == NULL || runs->from == NULL || runs->bytes == NULL ||
	    runs->indices == NULL || kinds > runs->count)
		return;
	runs->copies = runs->count;
	struct runs given = *runs, ours = *runs;
	if (!any_crosses(&given) || !hp_keeps(batch_cut))
		return;
	/* Uncut, the batch has its blocks unpinned by batch_clear(). */
	if (hp_keeps(batch_refused_whole) && !all_fit(&given))
		return;
	ours.count = cut_runs(&given, NULL);
	ours.memory_bytes = (3 * ours.count + given.count + 1 + kinds) * sizeof(size_t);
	ours.memory = hp_arena_alloc(ours.memory_bytes);
	if (ours.memory == NULL)
		return;
	ours.to = ours.memory;
	ours.from = ours.to + ours.count;
	ours.bytes = (size_t *)(ours.from + ours.count);
	ours.first = ours.bytes + ours.count;
	ours.indices = ours.first + given.count + 1;
	/* Nobody unpins a block that is in use; what is pinned meanwhile is cut the next time. */
	if (cut_runs(&given, &ours) != ours.count) {
		hp_arena_free(ours.memory, ours.memory_bytes);
		return;
	}
	ours.first[given.count] = ours.count;
	for (size_t i = 0; i < kinds; i++)
		ours.indices[i] = given.indices[i] <= given.count ? ours.first[given.indices[i]]
								  : ours.count + 1;
	*runs = ours;
}

/* *failed: as the program counts the copies. */
static void runs_end(const struct runs *runs, size_t *failed, CUresult result)
{
	if (runs->memory == NULL)
		return;
	for (size_t i = runs->copies; result != CUDA_SUCCESS && failed != NULL && i-- > 0;)
		if (*failed < runs->count && runs->first[i] <= *failed) {
			*failed = i;
			break;
		}
	hp_arena_free(runs->memory, runs->memory_bytes);
}

static CUresult batch_end(const struct batch *batch, CUresult result)
{
	if (batch->pinned && result == CUDA_SUCCESS && hp_keeps(batch_waits))
		result = stream_wait(batch->stream, batch->per_thread);
	/* Copies before the one that was refused may be on their way. */
	if (batch->pinned && result != CUDA_SUCCESS && hp_keeps(failed_batch_waits) &&
	    has_work(batch))
		stream_wait(batch->stream, batch->per_thread);
	pin_use_end();
	return result;
}

/* CUDA 13 dropped the index of the copy that failed. */
#define BATCH_BODY(name, own, begin, call, end)                                             \
	{                                                                                   \
		SHIM_ENTER_ON(REAL_ROW_##name, stream);                                     \
		if (!state_active())                                                        \
			return REAL(name) call;                                             \
		struct batch batch = batch_begin(stream, own, __builtin_frame_address(0));  \
		pin_use_begin();                                                            \
		EACH_SIDE(batch_name);                                                      \
		/* What is pinned between the look and the call would not have been cut. */ \
		if (batch.ours) {                                                           \
			pin_ask_begin();                                                    \
			begin;                                                              \
			EACH_SIDE(batch_clear);                                             \
			EACH_SIDE(batch_look);                                              \
		}                                                                           \
		CUresult result = REAL(name) call;                                          \
		if (batch.ours) {                                                           \
			pin_ask_end();                                                      \
			EACH_SIDE(batch_look);                                              \
		}                                                                           \
		end;                                                                        \
		if (result == CUDA_SUCCESS && batch.enter_ns != 0 && count > 0) {           \
			batch.each_ns = (hp_now_ns() - batch.enter_ns) / count;             \
			EACH(batch_report);                                                 \
		}                                                                           \
		return batch_end(&batch, result);                                           \
	}

/* Runs `step` for both sides of every copy of a linear batch, as the driver gets them. */
#define EACH_SIDE(step)                                                                           \
	for (size_t i = 0;                                                                        \
	     runs.to != NULL && runs.from != NULL && runs.bytes != NULL && i < runs.count; i++) { \
		step(&batch, (const void *)runs.from[i], runs.bytes[i]);                          \
		step(&batch, (const void *)runs.to[i], runs.bytes[i]);                            \
	}
#define EACH(step)                                                                          \
	for (size_t i = 0; dsts != NULL && srcs != NULL && sizes != NULL && i < count; i++) \
	step(&batch, dsts[i], srcs[i], sizes[i])
#define AS_GIVEN                                                                             \
	struct runs runs = {                                                                 \
		.to = dsts, .from = srcs, .bytes = sizes, .indices = indices, .count = count \
	}
#define BATCH(name, own)                                                                           \
	HP_EXPORT CUresult name(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, \
				CUmemcpyAttributes *attributes, size_t *indices, size_t kinds,     \
				size_t *failed, CUstream stream)                                   \
	{                                                                                          \
		AS_GIVEN;                                                                          \
		BATCH_BODY(name, own, runs_begin(&runs, &batch, kinds),                            \
			   (runs.to, runs.from, runs.bytes, runs.count, attributes, runs.indices,  \
			    kinds, failed, stream),                                                \
			   runs_end(&runs, failed, result))                                        \
	}
#define BATCH_V2(name, own)                                                                        \
	HP_EXPORT CUresult name(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, \
				CUmemcpyAttributes *attributes, size_t *indices, size_t kinds,     \
				CUstream stream)                                                   \
	{                                                                                          \
		AS_GIVEN;                                                                          \
		BATCH_BODY(name, own, runs_begin(&runs, &batch, kinds),                            \
			   (runs.to, runs.from, runs.bytes, runs.count, attributes, runs.indices,  \
			    kinds, stream),                                                        \
			   runs_end(&runs, NULL, result))                                          \
	}
BATCH(cuMemcpyBatchAsync, false)
BATCH(cuMemcpyBatchAsync_ptsz, true)
#if CUDA_VERSION >= 13000
BATCH_V2(cuMemcpyBatchAsync_v2, false)
BATCH_V2(cuMemcpyBatchAsync_v2_ptsz, true)
#endif
#undef EACH_SIDE
#undef EACH
#undef AS_GIVEN
#undef BATCH
#undef BATCH_V2

static CUdeviceptr operand(const CUmemcpy3DOperand *side)
{
	return side->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? side->op.ptr.ptr : 0;
}

/* 0: none, or one that is not known here. */
static size_t element_bytes(const CUmemcpy3DOperand *side)
{
	return side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY
		       ? array_element_bytes(side->op.array.array)
		       : 0;
}

/* An element of an array has its size; where no array is, it is a byte. */
static size_t box_element(const CUDA_MEMCPY3D_BATCH_OP *box)
{
	size_t element = element_bytes(&box->src);

	if (element == 0)
		element = element_bytes(&box->dst);
	return element != 0 ? element : 1;
}

static size_t box_bytes(const CUDA_MEMCPY3D_BATCH_OP *box)
{
	return box->extent.width * box->extent.height * box->extent.depth * box_element(box);
}

/* From the first byte of a side to behind its last. */
static size_t box_extent(const CUDA_MEMCPY3D_BATCH_OP *box, const CUmemcpy3DOperand *side)
{
	const CUextent3D *size = &box->extent;

	if (operand(side) == 0 || size->width == 0 || size->height == 0 || size->depth == 0)
		return 0;
	size_t pitch = side->op.ptr.rowLength != 0 ? side->op.ptr.rowLength : size->width;
	size_t height = side->op.ptr.layerHeight != 0 ? side->op.ptr.layerHeight : size->height;
	return (((size->depth - 1) * height + size->height - 1) * pitch + size->width) *
	       box_element(box);
}

#define EACH_SIDE(step)                                            \
	for (size_t i = 0; boxes != NULL && i < count; i++) {      \
		step(&batch, (const void *)operand(&boxes[i].src), \
		     box_extent(&boxes[i], &boxes[i].src));        \
		step(&batch, (const void *)operand(&boxes[i].dst), \
		     box_extent(&boxes[i], &boxes[i].dst));        \
	}
#define EACH(step)                                          \
	for (size_t i = 0; boxes != NULL && i < count; i++) \
	step(&batch, operand(&boxes[i].dst), operand(&boxes[i].src), box_bytes(&boxes[i]))
#define BATCH(name, own)                                                                     \
	HP_EXPORT CUresult name(size_t count, CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *failed, \
				unsigned long long flags, CUstream stream)                   \
		BATCH_BODY(name, own, (void)0, (count, boxes, failed, flags, stream), (void)0)
#define BATCH_V2(name, own)                                                  \
	HP_EXPORT CUresult name(size_t count, CUDA_MEMCPY3D_BATCH_OP *boxes, \
				unsigned long long flags, CUstream stream)   \
		BATCH_BODY(name, own, (void)0, (count, boxes, flags, stream), (void)0)
BATCH(cuMemcpy3DBatchAsync, false)
BATCH(cuMemcpy3DBatchAsync_ptsz, true)
#if CUDA_VERSION >= 13000
BATCH_V2(cuMemcpy3DBatchAsync_v2, false)
BATCH_V2(cuMemcpy3DBatchAsync_v2_ptsz, true)
#endif
#undef EACH_SIDE
#undef EACH
#undef BATCH
#undef BATCH_V2
#undef BATCH_BODY
#endif
