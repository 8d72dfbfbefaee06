/*
 * fill.c - memset, and the execution of operations of every kind.
 *
 * Host functions run on a thread of the driver, as with a device.  Twins run on the thread that
 * advances the stream.  Neither runs with the lock held.
 */
#include "engine.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

CUresult fill_start(struct fill *fill, struct stream *stream, bool async)
{
	size_t row = fill->width * fill->size, bytes;
	struct work work = { .kind = W_FILL };
	const struct block *block;
	struct op *op = NULL;
	CUresult rc;

	if (fill->width == 0 || fill->height == 0)
		return CUDA_SUCCESS;
	if (fill->at % fill->size != 0 || (fill->height > 1 && fill->pitch < row))
		return CUDA_ERROR_INVALID_VALUE;
	bytes = (fill->height - 1) * fill->pitch + row;
	block = block_find(fill->at);
	if (block == NULL || bytes > block_room(block, fill->at))
		return CUDA_ERROR_INVALID_VALUE;
	if (!async && stream->capture != NULL)
		return capture_break_stream(stream);
	clock_spend(MODEL_OF(enqueue_ns));
	work.fill = *fill;
	/*
	 * "The memset functions are asynchronous with respect to the host except when the target is
	 * pinned host memory or a Unified Memory region, in which case they are fully synchronous."
	 * (CUDA driver API, API synchronization behavior)  Or where
	 * CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set, which an H200 has shown.
	 */
	async = async || (block_on_device(block) && !block->sync_memops);
	rc = stream_push(stream, &work, &op);
	if (rc == CUDA_SUCCESS && op != NULL && !async)
		op_complete(op);
	op_put(op);
	return rc;
}

static void fill_run(struct fill *fill)
{
	const struct block *block = block_find(fill->at);
	size_t row = fill->width * fill->size;
	unsigned char *bytes = buffer_take(row);

	if (block == NULL || bytes == NULL) {
		buffer_give(bytes);
		return;
	}
	if (fill->size == 1)
		memset(bytes, (int)fill->value, row);
	for (size_t i = 0; fill->size > 1 && i < row; i += fill->size)
		memcpy(bytes + i, &fill->value, fill->size);
	for (size_t y = 0; y < fill->height; y++) {
		uintptr_t at = fill->at + y * fill->pitch;

		if (block->kind == B_REGISTERED)
			pin_write(block->pin, at, bytes, row);
		else
			memcpy(block_host(block, at), bytes, row);
	}
	buffer_give(bytes);
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool started, pending;
	struct work *work;
} host = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void call_host(struct work *work)
{
	in_callback = true;
	if (work->kind == W_HOST)
		work->host.fn(work->host.data);
	else
		work->host.callback(work->host.stream, CUDA_SUCCESS, work->host.data);
	in_callback = false;
}

static void *host_thread(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&host.lock);
	for (;;) {
		while (host.work == NULL)
			pthread_cond_wait(&host.changed, &host.lock);
		pthread_mutex_unlock(&host.lock);
		call_host(host.work);
		pthread_mutex_lock(&host.lock);
		host.work = NULL;
		pthread_cond_broadcast(&host.changed);
	}
	return NULL;
}

static bool host_start(void)
{
	pthread_t thread;
	sigset_t all, before;
	int error;

	if (host.started)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, host_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error == 0)
		pthread_detach(thread);
	host.started = error == 0;
	return host.started;
}

static void run_host(struct work *work)
{
	pthread_mutex_unlock(&engine.lock);
	pthread_mutex_lock(&host.lock);
	if (!host_start())
		abort();
	while (host.work != NULL)
		pthread_cond_wait(&host.changed, &host.lock);
	host.work = work;
	pthread_cond_broadcast(&host.changed);
	while (host.work == work)
		pthread_cond_wait(&host.changed, &host.lock);
	pthread_mutex_unlock(&host.lock);
	pthread_mutex_lock(&engine.lock);
}

void work_run(struct work *work, uint64_t *ret_ns)
{
	switch (work->kind) {
	case W_COPY:
		*ret_ns = copy_ns(&work->copy);
		work->copy.fault = copy_is_lost(&work->copy);
		if (!work->copy.fault)
			copy_run(&work->copy);
		break;
	case W_FILL:
		*ret_ns = MODEL_OF(dma_ns) +
			  model_time(work->fill.width * work->fill.size * work->fill.height,
				     MODEL_OF(d2d_bytes_per_us));
		fill_run(&work->fill);
		break;
	case W_KERNEL:
		kernel_run(&work->launch, ret_ns);
		break;
	case W_HOST:
	case W_CALLBACK:
		run_host(work);
		break;
	case W_FREE:
		mem_free_now(work->free);
		break;
	case W_NOP:
	case W_WAIT_VALUE:
		break;
	}
}

void work_release(struct work *work)
{
	if (work->kind == W_COPY)
		buffer_give(work->copy.staged);
	if (work->kind == W_KERNEL)
		free(work->launch.args);
	work->kind = W_NOP;
}

bool work_clone(struct work *to, const struct work *from)
{
	size_t bytes;

	*to = *from;
	if (from->kind == W_COPY && from->copy.staged != NULL)
		return false; /* captured copies read their source at replay, never before */
	if (from->kind != W_KERNEL || from->launch.args == NULL)
		return true;
	memcpy(&bytes, from->launch.args, sizeof(bytes));
	to->launch.args = malloc(bytes);
	if (to->launch.args == NULL)
		return false;
	memcpy(to->launch.args, from->launch.args, bytes);
	return true;
}
