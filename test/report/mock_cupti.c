/*
 * mock_cupti.c - an imitation of CUPTI's activity API.
 *
 * As since CUDA 13.0, each thread that records fills a buffer of its own; in older versions all
 * threads share one.
 *
 * As in CUPTI, one lock is held in every function and while the client's callbacks run: a callback
 * that calls back, or takes a lock that is held around a call, hangs here too.  The size of each
 * record is stored before it, for GetNextRecord alone.  With MOCK_OLD the library lacks the
 * function that CUDA 12.4 has added.
 */
#include "mock_cupti.h"
#include "trace/collect/cupti_min.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT         MOCK_EXPORT
#define THREAD_BUFFERS 16384 /* threads that record, during the life of the process */

struct mock_cupti mock_cupti = { .version = 130001, .clock_offset = 1700000000123456789 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static cupti_request_fn request;
static cupti_complete_fn complete;
static struct thread_buffer {
	uint8_t *buffer;
	size_t size, used;
} thread_buffers[THREAD_BUFFERS];
static unsigned thread_buffers_used;
static __thread struct thread_buffer *own_buffers;
static bool recorded;

/* Also writes to the file that MOCK_CUPTI_LOG names, if the test runs in another process. */
static void keep(const char *text)
{
	const char *path = getenv("MOCK_CUPTI_LOG");
	int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (file < 0)
		return;
	if (write(file, text, strlen(text)) < 0)
		abort();
	close(file);
}

static void note(const char *format, unsigned number)
{
	size_t length = strlen(mock_cupti.log);

	snprintf(mock_cupti.log + length, sizeof(mock_cupti.log) - length, format, number);
	keep(mock_cupti.log + length);
}

void mock_note(const char *text)
{
	keep(text);
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Prototypes that no header of ours declares. */
EXPORT int cuptiActivityRegisterCallbacks(cupti_request_fn ask, cupti_complete_fn give);
EXPORT int cuptiActivityEnable(uint32_t kind);
EXPORT int cuptiActivityDisable(uint32_t kind);
EXPORT int cuptiActivityEnableDriverApi(uint32_t function, uint8_t enable);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, uint8_t **record);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *ret);
EXPORT int cuptiActivitySetAttribute(int attribute, size_t *bytes, void *value);
EXPORT int cuptiGetThreadIdType(int *ret);
EXPORT int cuptiGetTimestamp(uint64_t *ret);
EXPORT int cuptiGetVersion(uint32_t *ret);
EXPORT int cuptiGetResultString(int result, const char **ret);
#define FORBIDDEN(name)             \
	EXPORT int name(void);      \
	int name(void)              \
	{                           \
		return forbidden(); \
	}

int cuptiActivityRegisterCallbacks(cupti_request_fn ask, cupti_complete_fn give)
{
	note("register ", 0);
	request = ask;
	complete = give;
	return mock_cupti.register_result;
}

int cuptiActivityEnable(uint32_t kind)
{
	note("+%u ", kind);
	/*
	 * Without a driver nobody else creates records, but buffers are only flushed after one was
	 * requested.
	 */
	if (kind == CUPTI_MEMSET && getenv("MOCK_CUPTI_KERNEL") != NULL)
		mock_kernel("mocked", 0, (uint64_t)now() - 2000000, (uint64_t)now() - 1000000);
	int result = kind < 64 ? mock_cupti.enable_result[kind] : CUPTI_UNKNOWN;
	return result;
}

int cuptiActivityDisable(uint32_t kind)
{
	note("-%u ", kind);
	return CUPTI_OK;
}

/* Called with the lock held. */
static uint8_t *ask_for_buffer(size_t *ret_size)
{
	uint8_t *got = NULL;
	size_t most = 1;

	request(&got, ret_size, &most);
	mock_cupti.buffers_requested++;
	if (got == NULL)
		mock_cupti.null_buffers++;
	/* The shared buffer for lost records need not be clear. */
	if (got != NULL && *ret_size >= 1 << 20 && mock_cupti.zeroed)
		mock_cupti.dirty_buffers += got[0] != 0 || memcmp(got, got + 1, *ret_size - 1) != 0;
	return got;
}

/* Called with the lock held. */
static void give_buffer(struct thread_buffer *own)
{
	if (own->buffer != NULL) {
		mock_cupti.buffers_given++;
		complete(NULL, 0, own->buffer, own->size, own->used);
	}
	own->buffer = NULL;
	own->used = 0;
}

/* Called with the lock held. */
static struct thread_buffer *buffers_of_thread(void)
{
	if (mock_cupti.version < 130000)
		return &thread_buffers[0];
	if (own_buffers == NULL) {
		if (thread_buffers_used == THREAD_BUFFERS)
			abort();
		own_buffers = &thread_buffers[thread_buffers_used++];
	}
	return own_buffers;
}

void mock_complete(void)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i <= thread_buffers_used && i < THREAD_BUFFERS; i++)
		give_buffer(&thread_buffers[i]);
	pthread_mutex_unlock(&lock);
}

/* Pauses between two looks at another thread. */
static void pause_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

void mock_read(void)
{
	mock_complete();
	for (int i = 0; i < 60000 && mock_cupti.buffers_read < mock_cupti.buffers_given; i++)
		pause_a_little();
}

void mock_after_fork_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

size_t mock_hog(unsigned count)
{
	size_t total = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < count; i++) {
		size_t got;

		ask_for_buffer(&got);
		total += got;
	}
	pthread_mutex_unlock(&lock);
	return total;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	pthread_mutex_lock(&lock);
	if (mock_cupti.flushes++ < 8)
		note("flush%u ", flag);
	if (mock_cupti.buffers_requested == 0)
		mock_cupti.flushed_without_buffer++;
	pthread_mutex_unlock(&lock);
	while (mock_cupti.hangs)
		pause_a_little();
	if (!mock_cupti.late)
		mock_complete();
	return CUPTI_OK;
}

int cuptiActivityGetNextRecord(uint8_t *from, size_t valid, uint8_t **record)
{
	uint8_t *next = from;
	uint64_t bytes;

	while (mock_cupti.stuck)
		pause_a_little();
	if (*record != NULL) {
		memcpy(&bytes, *record - sizeof(bytes), sizeof(bytes));
		next = *record + bytes;
	}
	if (next >= from + valid) {
		mock_cupti.buffers_read++;
		return CUPTI_MAX_LIMIT_REACHED;
	}
	*record = next + sizeof(bytes);
	return CUPTI_OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *ret)
{
	(void)context;
	(void)stream;
	pthread_mutex_lock(&lock);
	if (mock_cupti.dropped_result == CUPTI_OK)
		*ret = mock_cupti.dropped;
	mock_cupti.dropped = 0;
	pthread_mutex_unlock(&lock);
	return mock_cupti.dropped_result;
}

int cuptiGetThreadIdType(int *ret)
{
	*ret = mock_cupti.thread_type;
	return CUPTI_OK;
}

int cuptiActivitySetAttribute(int attribute, size_t *bytes, void *value)
{
	mock_cupti.zeroed =
		attribute == CUPTI_ATTRIBUTE_ZEROED && *bytes == 1 && *(uint8_t *)value != 0;
	return CUPTI_OK;
}

static bool enabled_calls[1024];

#ifndef MOCK_OLD
int cuptiActivityEnableDriverApi(uint32_t function, uint8_t enable)
{
	if (function >= sizeof(enabled_calls))
		return CUPTI_UNKNOWN;
	mock_cupti.calls_enabled += (enable != 0) - enabled_calls[function];
	enabled_calls[function] = enable != 0;
	return CUPTI_OK;
}
#endif

int cuptiGetTimestamp(uint64_t *ret)
{
	pthread_mutex_lock(&lock);
	*ret = (uint64_t)(now() + mock_cupti.clock_offset +
			  (recorded ? 0 : mock_cupti.early_error));
	pthread_mutex_unlock(&lock);
	return mock_cupti.timestamp_result;
}

int cuptiGetVersion(uint32_t *ret)
{
	*ret = mock_cupti.version;
	return CUPTI_OK;
}

int cuptiGetResultString(int result, const char **ret)
{
	*ret = result == CUPTI_TAKEN ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
				     : "CUPTI_ERROR_OF_THE_MOCK";
	return CUPTI_OK;
}

static int forbidden(void)
{
	mock_cupti.forbidden_calls++;
	return CUPTI_OK;
}

/*
 * These functions would replace another tool, have crashed, hung or lost records in some version,
 * or cost more than they tell.
 */
FORBIDDEN(cuptiSubscribe)
FORBIDDEN(cuptiSubscribe_v2)
FORBIDDEN(cuptiFinalize)
FORBIDDEN(cuptiActivityFlush)
FORBIDDEN(cuptiActivityFlushPeriod)
FORBIDDEN(cuptiActivityRegisterTimestampCallback)
FORBIDDEN(cuptiActivityEnable_v2)
FORBIDDEN(cuptiActivityEnableContext)
FORBIDDEN(cuptiActivityEnableHWTrace)
FORBIDDEN(cuptiIsTracingSessionRunning)
FORBIDDEN(cuptiSetThreadIdType)
FORBIDDEN(cuptiEnableDomain)

static void record(const void *bytes, size_t length)
{
	uint64_t total = (length + mock_cupti.extra_bytes + 7) / 8 * 8;

	pthread_mutex_lock(&lock);
	if (!mock_cupti.silent && request != NULL) {
		struct thread_buffer *own = buffers_of_thread();

		if (own->buffer != NULL && own->used + sizeof(total) + total > own->size)
			give_buffer(own);
		if (own->buffer == NULL)
			own->buffer = ask_for_buffer(&own->size);
		recorded = true;
		if (own->buffer != NULL) {
			uint8_t *to = own->buffer + own->used;

			memcpy(to, &total, sizeof(total));
			memcpy(to + sizeof(total), bytes, length);
			/* Fields that newer versions append must not be interpreted. */
			memset(to + sizeof(total) + length, 0xee, total - length);
			own->used += sizeof(total) + total;
		}
	}
	pthread_mutex_unlock(&lock);
}

static uint64_t stamp(uint64_t ns)
{
	return ns == 0 ? 0 : ns + (uint64_t)mock_cupti.clock_offset;
}

void mock_copy(uint32_t kind, uint8_t copy_kind, uint8_t source, uint8_t target, uint64_t bytes,
	       uint64_t start, uint64_t end)
{
	struct cupti_memcpy activity = {
		.kind = kind,
		.copy_kind = copy_kind,
		.source_kind = source,
		.target_kind = target,
		.bytes = bytes,
		.start = stamp(start),
		.end = stamp(end),
		.correlation = mock_cupti.correlation,
	};

	record(&activity, sizeof(activity));
}

void mock_call(uint32_t function, uint32_t thread, uint32_t correlation, uint64_t start,
	       uint64_t end)
{
	struct cupti_call activity = {
		.kind = CUPTI_DRIVER_CALL,
		.function = function,
		.start = stamp(start),
		.end = stamp(end),
		.thread = thread,
		.correlation = correlation,
	};

	if (function < sizeof(enabled_calls) && enabled_calls[function])
		record(&activity, sizeof(activity));
}

void mock_memset(uint64_t bytes, uint64_t start, uint64_t end)
{
	struct cupti_memset activity = {
		.kind = CUPTI_MEMSET,
		.bytes = bytes,
		.start = stamp(start),
		.end = stamp(end),
	};

	record(&activity, sizeof(activity));
}

void mock_kernel(const char *name, uint32_t device, uint64_t start, uint64_t end)
{
	struct cupti_kernel activity = {
		.kind = CUPTI_CONCURRENT_KERNEL,
		.start = stamp(start),
		.end = stamp(end),
		.device = device,
		.grid = { 128, 2, 1 },
		.block = { 256, 1, 1 },
		.registers = 40,
		.dynamic_shared = 2048,
		.correlation = mock_cupti.correlation,
		.name = name,
	};

	record(&activity, sizeof(activity));
}

void mock_other(uint32_t kind)
{
	const uint64_t activity[4] = { kind, ~(uint64_t)0, ~(uint64_t)0, ~(uint64_t)0 };

	record(activity, sizeof(activity));
}
