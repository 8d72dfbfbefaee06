/*
 * copy.c - what a copy waits for, when it reads its source, and how bytes are moved.
 *
 * The rules are those of the CUDA driver API, "API synchronization behavior", and of measurements
 * where that page is vague; each is cited where it is applied.  The calling thread reads and writes
 * pageable memory with the lock released, because a fault handler of the program may run.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

static bool is_host(const struct side *side)
{
	return side->class == SIDE_PAGEABLE || side->class == SIDE_PINNED;
}

static size_t span(const struct side *side, const struct xfer *x)
{
	return (x->depth - 1) * side->slice + (x->height - 1) * side->pitch + x->width;
}

static size_t bytes_of(const struct xfer *x)
{
	return x->width * x->height * x->depth;
}

/* Determines the kind of the side; INVALID_VALUE if the range does not match its stated type. */
static CUresult classify(struct side *side, const struct xfer *x)
{
	size_t bytes = span(side, x);
	const struct block *block = block_find(side->at);

	if (side->type == CU_MEMORYTYPE_UNIFIED)
		side->type = block == NULL || block_is_host(block) ? CU_MEMORYTYPE_HOST
								   : CU_MEMORYTYPE_DEVICE;
	if (side->at == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (block == NULL) {
		side->class = SIDE_PAGEABLE;
		return side->type == CU_MEMORYTYPE_HOST ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	}
	if (bytes > block_room(block, side->at)) {
		/* A host range that extends beyond its registration; see copy_start(). */
		side->class = SIDE_PAGEABLE;
		return side->type == CU_MEMORYTYPE_HOST && block_is_host(block)
			       ? CUDA_SUCCESS
			       : CUDA_ERROR_INVALID_VALUE;
	}
	/*
	 * Measured on an H200: if offsets lead from pageable memory into a registration, the driver
	 * trusts the address and refuses several rows.  It accepts a single row.
	 */
	if (side->given != 0 && x->height * x->depth > 1 && block_is_host(block) &&
	    block_find(side->given) == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	/* Also if device memory is declared as host memory: the address decides. */
	side->class = block_is_host(block) ? SIDE_PINNED : SIDE_DEVICE;
	side->serial = block->serial;
	return CUDA_SUCCESS;
}

CUresult copy_resolve(struct xfer *x)
{
	CUresult rc = classify(&x->src, x);

	return rc != CUDA_SUCCESS ? rc : classify(&x->dst, x);
}

/*
 * Measured on an H200: a copy, synchronous or not, whose host range starts inside one registration
 * and ends in another or outside returns INVALID_VALUE.
 */
static bool straddles(const struct side *side, const struct xfer *x)
{
	const struct block *block = block_find(side->at);

	return side->type == CU_MEMORYTYPE_HOST && block != NULL &&
	       span(side, x) > block_room(block, side->at);
}

static void outside_lock(void *to, const void *from, size_t bytes)
{
	pthread_mutex_unlock(&engine.lock);
	memcpy(to, from, bytes);
	steps_unlocked();
	pthread_mutex_lock(&engine.lock);
}

static void fetch(const struct side *side, uintptr_t at, void *to, size_t bytes)
{
	const struct block *block = side->class == SIDE_STAGED ? NULL : block_find(at);

	if (side->class == SIDE_STAGED)
		memcpy(to, (void *)at, bytes);
	else if (block == NULL || (block_is_host(block) && side->class == SIDE_PAGEABLE))
		outside_lock(to, (void *)at, bytes);
	else if (block->kind == B_REGISTERED)
		pin_read(block->pin, at, to, bytes);
	else
		memcpy(to, block_host(block, at), bytes);
}

static void store(const struct side *side, uintptr_t at, const void *from, size_t bytes)
{
	const struct block *block = block_find(at);

	if (block == NULL || (block_is_host(block) && side->class == SIDE_PAGEABLE))
		outside_lock((void *)at, from, bytes);
	else if (block->kind == B_REGISTERED)
		pin_write(block->pin, at, from, bytes);
	else
		memcpy(block_host(block, at), from, bytes);
}

static uintptr_t row(const struct side *side, size_t y, size_t z)
{
	return side->at + z * side->slice + y * side->pitch;
}

/* Returns the address for direct access; NULL if bytes are accessed by DMA or without the lock. */
static void *plain(const struct side *side, uintptr_t at)
{
	const struct block *block;

	if (side->class == SIDE_STAGED)
		return (void *)at;
	if (side->class == SIDE_PAGEABLE)
		return NULL;
	block = block_find(at);
	return block != NULL && block->kind != B_REGISTERED ? block_host(block, at) : NULL;
}

/* Moves one row: directly if a side is ordinary memory, otherwise through a buffer. */
static void move(const struct xfer *x, uintptr_t from, uintptr_t to, void *buffer, size_t piece)
{
	void *plain_from = plain(&x->src, from), *plain_to = plain(&x->dst, to);

	if (plain_from != NULL && plain_to != NULL) {
		memmove(plain_to, plain_from, x->width);
	} else if (plain_to != NULL) {
		fetch(&x->src, from, plain_to, x->width);
	} else if (plain_from != NULL) {
		store(&x->dst, to, plain_from, x->width);
	} else {
		for (size_t done = 0; done < x->width; done += piece) {
			size_t n = x->width - done < piece ? x->width - done : piece;

			fetch(&x->src, from + done, buffer, n);
			store(&x->dst, to + done, buffer, n);
		}
	}
}

void copy_run(struct xfer *x)
{
	size_t piece = x->width < (1u << 20) ? x->width : 1u << 20;
	void *buffer = buffer_take(piece);

	if (buffer == NULL)
		abort();
	for (size_t z = 0; z < x->depth; z++)
		for (size_t y = 0; y < x->height; y++)
			move(x, row(&x->src, y, z), row(&x->dst, y, z), buffer, piece);
	buffer_give(buffer);
}

static bool is_gone(const struct side *side)
{
	const struct block *block = block_find(side->at);

	if (side->class == SIDE_PAGEABLE || side->class == SIDE_STAGED)
		return false;
	return block == NULL || (side->class == SIDE_PINNED && block->serial != side->serial);
}

/*
 * Measured on an H200: a node remembers the kind of its memory at its creation.  If that memory was
 * unregistered, or registered again, the copy ends the context.  So does a copy of unmapped device
 * memory, which is freed without waiting.
 */
bool copy_is_lost(const struct xfer *x)
{
	return is_gone(&x->src) || is_gone(&x->dst);
}

uint64_t copy_ns(const struct xfer *x)
{
	uint64_t rate = MODEL_OF(d2d_bytes_per_us);

	if (is_host(&x->src) || is_host(&x->dst) || x->src.class == SIDE_STAGED)
		rate = MODEL_OF(pinned_bytes_per_us);
	if (x->src.class == SIDE_PAGEABLE || x->dst.class == SIDE_PAGEABLE)
		rate = MODEL_OF(pageable_bytes_per_us);
	return MODEL_OF(dma_ns) + model_time(bytes_of(x), rate);
}

/* Reads the whole source now, because the program may change it. */
static CUresult stage(struct xfer *x)
{
	char *to = buffer_take(bytes_of(x));

	if (to == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	x->staged = to;
	for (size_t z = 0; z < x->depth; z++)
		for (size_t y = 0; y < x->height; y++, to += x->width)
			fetch(&x->src, row(&x->src, y, z), to, x->width);
	clock_spend(model_time(bytes_of(x), MODEL_OF(pageable_bytes_per_us)));
	x->src = (struct side){ .type = CU_MEMORYTYPE_HOST,
				.at = (uintptr_t)x->staged,
				.pitch = x->width,
				.slice = x->width * x->height,
				.class = SIDE_STAGED };
	return CUDA_SUCCESS;
}

/*
 * Observed on an H200: a node of pageable memory reads it at the launch of the graph, even if the
 * memory was registered since.
 */
CUresult copy_launch(struct xfer *x)
{
	return x->src.class == SIDE_PAGEABLE && x->dst.class == SIDE_DEVICE ? stage(x)
									    : CUDA_SUCCESS;
}

static CUresult push(struct xfer *x, struct stream *stream, bool wait)
{
	struct work work = { .kind = W_COPY, .copy = *x };
	struct op *op = NULL;
	CUresult rc = stream_push(stream, &work, &op);

	if (rc == CUDA_SUCCESS && wait && op != NULL) {
		op_complete(op);
		rc = ctx_check();
	}
	op_put(op);
	return rc;
}

static bool sync_memops(const struct xfer *x, const struct ctx *ctx)
{
	const struct block *src = block_find(x->src.at), *dst = block_find(x->dst.at);

	return (ctx->flags & CU_CTX_SYNC_MEMOPS) || (src != NULL && src->sync_memops) ||
	       (dst != NULL && dst->sync_memops);
}

/* Observed on an H200: copies from and to managed memory wait, including asynchronous ones. */
static bool is_managed(const struct side *side)
{
	const struct block *block = block_find(side->at);

	return side->class == SIDE_DEVICE && block->kind == B_MANAGED;
}

/* True if the stream is empty but ordered after pending work of the legacy stream. */
static bool behind_legacy_alone(struct stream *stream)
{
	return !stream->legacy && !(stream->flags & CU_STREAM_NON_BLOCKING) &&
	       stream_idle(stream) && !stream_idle(stream->ctx->legacy);
}

static CUresult start_pageable_h2d(struct xfer *x, struct stream *stream, bool async)
{
	size_t bytes = bytes_of(x);
	CUresult rc = stream_may_push(stream);

	if (rc != CUDA_SUCCESS)
		return rc;
	/* As measured: the copy waits for its own stream only. */
	if (!async && engine.ahead && bytes <= MODEL_OF(over_bytes) && behind_legacy_alone(stream))
		return stage(x) ?: push(x, stream, false);
	/* Complete on return; of very large copies the stand-in keeps no staged source. */
	if (!async && (bytes <= MODEL_OF(over_bytes) || bytes > MODEL_OF(staged_most_bytes)))
		return push(x, stream, true);
	/*
	 * "a stream sync is performed before the copy is initiated.  The function will return once
	 * the pageable buffer has been copied to the staging memory [...], but the DMA to final
	 * destination may not have completed."  Async copies up to 1 MiB do not wait.
	 */
	if (!async || bytes > (x->at_once ? MODEL_OF(batch_taken_bytes) : MODEL_OF(taken_in_bytes)))
		stream_settle(stream);
	/* As measured, independent of the requested order. */
	if (x->at_once && bytes > MODEL_OF(batch_read_bytes))
		return push(x, stream, false);
	return stage(x) ?: push(x, stream, false);
}

CUresult copy_start(struct xfer *x, struct stream *stream, bool async)
{
	bool wait = !async;
	CUresult rc;

	if (x->width == 0 || x->height == 0 || x->depth == 0)
		return CUDA_SUCCESS;
	rc = copy_resolve(x);
	if (rc != CUDA_SUCCESS)
		return rc;
	if (straddles(&x->src, x) || straddles(&x->dst, x))
		return CUDA_ERROR_INVALID_VALUE;
	if (!async && stream->capture != NULL)
		return capture_break_stream(stream);
	clock_spend(async ? MODEL_OF(enqueue_ns) : MODEL_OF(sync_copy_ns));
	if (stream->capture != NULL)
		return push(x, stream, false);
	if (is_managed(&x->src) || is_managed(&x->dst))
		return push(x, stream, true);
	if (x->src.class == SIDE_PAGEABLE && x->dst.class == SIDE_DEVICE)
		return start_pageable_h2d(x, stream, async);
	if (x->at_once && x->src.class == SIDE_PINNED)
		wait = true;
	/* As measured, from 4 to 4096 bytes in 60 of 60 copies, and of 64 KiB in none. */
	if (async && x->src.class == SIDE_PINNED && x->dst.class == SIDE_DEVICE &&
	    bytes_of(x) <= MODEL_OF(read_at_once_bytes) && behind_legacy_alone(stream))
		return stage(x) ?: push(x, stream, false);
	/*
	 * "For transfers from any host memory to any host memory, the function is fully
	 * synchronous"; D2H to pageable memory returns once complete (measured, at every size).
	 */
	if (x->dst.class == SIDE_PAGEABLE || (is_host(&x->src) && is_host(&x->dst)))
		wait = true;
	/*
	 * "For transfers from device memory to device memory, no host-side synchronization is
	 * performed."
	 */
	if (x->src.class == SIDE_DEVICE && x->dst.class == SIDE_DEVICE)
		wait = !async && sync_memops(x, stream->ctx);
	return push(x, stream, wait);
}

CUresult copy_linear(struct xfer *x, CUmemorytype dst_type, uintptr_t dst, CUmemorytype src_type,
		     uintptr_t src, size_t bytes)
{
	*x = (struct xfer){ .src = { .type = src_type, .at = src, .pitch = bytes, .slice = bytes },
			    .dst = { .type = dst_type, .at = dst, .pitch = bytes, .slice = bytes },
			    .width = bytes,
			    .height = 1,
			    .depth = 1 };
	return CUDA_SUCCESS;
}

static CUresult place(struct side *side, CUmemorytype type, const void *host, CUdeviceptr device,
		      CUarray handle, size_t pitch, size_t height, const size_t at[3],
		      const struct xfer *x)
{
	struct array *array;

	side->type = type;
	/* Measured on an H200: without a pitch, rows are contiguous. */
	side->pitch = pitch != 0 ? pitch : x->width;
	side->slice = side->pitch * height;
	if (type == CU_MEMORYTYPE_ARRAY) {
		array = array_get(handle);
		if (array == NULL)
			return CUDA_ERROR_INVALID_HANDLE;
		side->type = CU_MEMORYTYPE_DEVICE;
		side->pitch = array->pitch;
		side->slice = array->pitch * array->rows;
		if (at[0] + x->width > array->pitch || at[1] + x->height > array->rows ||
		    at[2] + x->depth > array->layers)
			return CUDA_ERROR_INVALID_VALUE;
		side->at = array->block->base;
	} else if (type == CU_MEMORYTYPE_HOST) {
		side->at = (uintptr_t)host;
	} else if (type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED) {
		side->at = device;
	} else {
		return CUDA_ERROR_INVALID_VALUE;
	}
	/*
	 * cuda.h, cuMemcpy2D: the pitch must be at least WidthInBytes + XInBytes, even for one
	 * row.  Several slices without a pitch were never tried.
	 */
	if (type != CU_MEMORYTYPE_ARRAY && pitch < at[0] + x->width &&
	    (pitch != 0 || (x->height > 1 && x->depth > 1)))
		return CUDA_ERROR_INVALID_VALUE;
	/* Measured on an H200: rows must not extend beyond their slice if another one follows. */
	if (type != CU_MEMORYTYPE_ARRAY && x->depth > 1 && height != 0 &&
	    (at[1] > height || x->height > height - at[1]))
		return CUDA_ERROR_INVALID_VALUE;
	side->given = side->at;
	if (side->at != 0)
		side->at += at[2] * side->slice + at[1] * side->pitch + at[0];
	return CUDA_SUCCESS;
}

CUresult copy_from_3d(struct xfer *x, const CUDA_MEMCPY3D *c)
{
	const size_t from[3] = { c->srcXInBytes, c->srcY, c->srcZ };
	const size_t to[3] = { c->dstXInBytes, c->dstY, c->dstZ };
	CUresult rc;

	*x = (struct xfer){ .width = c->WidthInBytes, .height = c->Height, .depth = c->Depth };
	if (x->width == 0 || x->height == 0 || x->depth == 0)
		return CUDA_SUCCESS;
	rc = place(&x->src, c->srcMemoryType, c->srcHost, c->srcDevice, c->srcArray, c->srcPitch,
		   c->srcHeight, from, x);
	if (rc != CUDA_SUCCESS)
		return rc;
	return place(&x->dst, c->dstMemoryType, c->dstHost, c->dstDevice, c->dstArray, c->dstPitch,
		     c->dstHeight, to, x);
}
