/*
 * copies.c - runs rows of copies, and compares the bytes of both sides with their expected values.
 *
 * Each copy has an image of both sides: the bytes from the guard before it to the guard after it.
 * Device memory of the stand-in is memory of this process.  So the runner reads and writes it while
 * the device is idle, without any call that the library could intercept.
 */
#include "copies.h"

#include <fnmatch.h>

/* Targets in device memory begin here: not at the start of an allocation. */
#define DEVICE_AT        (8 * MIB)
#define DEVICE_BYTES     (64 * MIB)
#define IMAGE_BYTES      (COPY_LARGE_BYTES + 8 * MIB)
#define WORK_BYTE        0x5b

#define COUNT_OF(array_) (sizeof(array_) / sizeof((array_)[0]))

/* The bytes of one side, guards included, and their expected values. */
struct image {
	char *at, *expected;
	size_t bytes, first; /* the copy's first byte is at + first */
};

/* One copy, from its arguments to the result. */
struct trial {
	const struct copy_row *row;
	const struct copy_host *memory;
	struct copy copy;
	struct image host, device;
	CUstream stream;   /* by its handle, even if the call passes NULL */
	CUstream captured; /* a capture is active on it */
	int pending;       /* operations of the stream on return */
	bool refused;      /* the driver is expected to refuse the copy */
};

static CUarray array;
/* The host's copy of the whole array. */
static char array_bytes[COPY_ARRAY_BYTES];
static char host_expected[IMAGE_BYTES], device_expected[IMAGE_BYTES];
static unsigned next_seed;

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Returns the image of `span` bytes at `begin`, with guards inside [low, low + room). */
static struct image image_of(char *begin, size_t span, char *low, size_t room, char *expected)
{
	size_t before = smaller(COPY_GUARD, (size_t)(begin - low));
	size_t behind = (size_t)(low + room - begin);

	return (struct image){ .at = begin - before,
			       .expected = expected,
			       .first = before,
			       .bytes = before + smaller(behind, span + COPY_GUARD) };
}

static void refresh(struct image *image)
{
	fill(image->at, image->bytes, ++next_seed);
	memcpy(image->expected, image->at, image->bytes);
}

static bool is_as_expected(const struct image *image, const char *side)
{
	size_t i = 0;

	if (memcmp(image->at, image->expected, image->bytes) == 0)
		return true;
	while (image->at[i] == image->expected[i])
		i++;
	printf("# the %s side is wrong at byte %zd of %zu: %02x, expected %02x\n", side,
	       (ssize_t)(i - image->first), image->bytes, (unsigned char)image->at[i],
	       (unsigned char)image->expected[i]);
	return false;
}

/* Moves the bytes of the box from one image to the other, as the copy must do. */
static void expect_copy(struct trial *trial)
{
	const struct copy_box *box = &trial->copy.box;

	for (size_t z = 0; z < box->slices; z++)
		for (size_t y = 0; y < box->rows; y++) {
			char *host = trial->host.expected + trial->host.first +
				     (z * box->host.height + y) * box->host.pitch;
			char *device = trial->device.expected + trial->device.first +
				       (z * box->device.height + y) * box->device.pitch;

			memcpy(trial->copy.to_device ? device : host,
			       trial->copy.to_device ? host : device, box->width);
		}
}

/* Copies between the array and array_bytes by the driver's own functions. */
static void write_array(void)
{
	OK(cuMemcpyHtoA_v2(array, 0, array_bytes, COPY_ARRAY_BYTES));
	OK(cuCtxSynchronize());
}

static void read_array(void)
{
	OK(cuMemcpyAtoH_v2(array_bytes, array, 0, COPY_ARRAY_BYTES));
}

static void print_trial(const struct trial *trial)
{
	const struct copy *copy = &trial->copy;
	const struct copy_box *box = &copy->box;

	printf("# %s %s: %zu x %zu x %zu, host +%zu, pitch %zu x %zu, device pitch %zu x %zu, "
	       "memory %d, work %d, capture %d, stream %p%s%s\n",
	       copy->call->name, copy->to_device ? "up" : "down", box->width, box->rows,
	       box->slices, (size_t)(trial->host.at + trial->host.first - trial->memory->at),
	       box->host.pitch, box->host.height, box->device.pitch, box->device.height,
	       trial->memory->kind, trial->row->work, trial->row->capture, (void *)copy->stream,
	       copy->unified ? ", unified" : "", copy->array != NULL ? ", array" : "");
	fflush(stdout);
}

/* A condition about one copy; a failure names the copy. */
#define EXPECT(trial, condition)            \
	do {                                \
		if (!CHECK(condition))      \
			print_trial(trial); \
	} while (0)

/* Enqueues work before the copy: it has not run, or cannot end yet. */
static void enqueue_work(struct trial *trial)
{
	CUstream stream = trial->stream;
	size_t span = trial->device.bytes;

	if (trial->row->work == COPY_IDLE)
		return;
	if (trial->row->work == COPY_HELD)
		copy_hold(stream);
	launch(stream);
	if (trial->copy.array != NULL || trial->row->wrong != COPY_RIGHT)
		return;
	/* A copy that comes too early is overwritten by this memset. */
	OK(cuMemsetD8Async(trial->copy.device + copy_begin_of(&trial->copy.box.device) -
				   trial->device.first,
			   WORK_BYTE, span, stream));
	memset(trial->device.expected, WORK_BYTE, span);
}

static void begin_capture(struct trial *trial)
{
	enum copy_capture capture = trial->row->capture;
	static CUstream concurrent, ordered;

	if (concurrent == NULL) {
		OK(cuStreamCreate(&concurrent, CU_STREAM_NON_BLOCKING));
		OK(cuStreamCreate(&ordered, CU_STREAM_DEFAULT));
	}
	if (capture == COPY_NO_CAPTURE)
		return;
	trial->captured = capture == COPY_CAPTURED         ? trial->stream
			  : capture == COPY_DURING_CAPTURE ? concurrent
							   : ordered;
	OK(cuStreamBeginCapture_v2(trial->captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

/* Ends the capture, and launches a captured copy. */
static void end_capture(struct trial *trial)
{
	enum copy_capture capture = trial->row->capture;
	CUgraph graph;
	CUgraphExec exec;
	CUresult code = cuStreamEndCapture(trial->captured, &graph);

	EXPECT(trial, (code == CUDA_SUCCESS) == (capture != COPY_FORBIDDEN_CAPTURE));
	if (capture != COPY_CAPTURED)
		return;
	EXPECT(trial,
	       standin_pinned(trial->memory->at) == 0 || copy_host_is_own(trial->memory->kind));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, trial->stream));
	OK(cuStreamSynchronize(trial->stream));
	OK(cuGraphExecDestroy(exec));
}

/* True if the copy is complete for the host when its call has returned. */
static bool is_over_on_return(const struct trial *trial)
{
	return trial->row->capture != COPY_CAPTURED &&
	       !(copy_host_is_own(trial->memory->kind) &&
		 (trial->copy.call->traits & COPY_ASYNC) != 0);
}

/* Returns how often the upload may have waited for the device. */
static int waits(void)
{
	return standin_calls("cuMemcpyHtoD") + standin_calls("cuEventSynchronize") +
	       standin_calls("cuStreamSynchronize");
}

static bool took_route(const struct trial *trial)
{
	int events = standin_calls("cuEventRecord");

	switch (trial->row->route) {
	case COPY_BY_RING:
		return (events > 0) == preloaded();
	case COPY_BY_SLOT:
		return events == 0 && standin_calls("cuEventQuery") == 0 &&
		       (strstr(standin_log_text(), "registered") != NULL) == preloaded();
	case COPY_PLAIN:
		return events == 0 && standin_calls(trial->copy.call->name) == 1;
	case COPY_EARLY:
		return (waits() == 0) == preloaded();
	default:
		return true;
	}
}

/* Checks the facts about the call itself, before anything waits. */
static void check_call(struct trial *trial)
{
	const struct copy_row *row = trial->row;
	int ended = standin_calls("cuMemHostUnregister");

	if (row->at_once)
		EXPECT(trial, trial->pending != 0);
	if (row->by != NULL)
		EXPECT(trial, standin_calls(preloaded() ? row->by : trial->copy.call->name) == 1);
	if (row->asks_nothing)
		EXPECT(trial,
		       standin_calls("cuStreamQuery") + standin_calls("cuPointerGetAttributes") ==
			       0);
	if (row->capture != COPY_NO_CAPTURE)
		EXPECT(trial, standin_calls("cuEventRecord") + standin_calls("cuEventQuery") == 0);
	if (copy_host_is_hot(trial->memory->kind) && !row->may_unpin &&
	    row->capture != COPY_CAPTURED)
		EXPECT(trial, ended == 0);
}

/* Checks the bytes that must be right when the call returns. */
static void check_on_return(struct trial *trial)
{
	bool own = trial->row->capture != COPY_CAPTURED && !is_over_on_return(trial);

	if (own && trial->row->work != COPY_IDLE && !trial->refused)
		EXPECT(trial, trial->pending != 0);
	if (!is_over_on_return(trial))
		return;
	if (!trial->refused && trial->copy.to_device)
		/* The image keeps the uploaded bytes. */
		memset(trial->host.at, 0xee, trial->host.bytes);
	else
		EXPECT(trial, is_as_expected(&trial->host, "host's"));
}

static void check_both_sides(struct trial *trial)
{
	if (!is_over_on_return(trial))
		EXPECT(trial, is_as_expected(&trial->host, "host's"));
	if (trial->copy.array != NULL)
		read_array();
	EXPECT(trial, is_as_expected(&trial->device, "device's"));
}

static void finish(struct trial *trial)
{
	if (trial->row->work == COPY_HELD)
		copy_let_go();
	if (trial->row->capture != COPY_NO_CAPTURE)
		end_capture(trial);
	OK(cuCtxSynchronize());
	check_both_sides(trial);
}

/* Makes the call.  False if it did not take the row's route. */
static bool carry_out(struct trial *trial)
{
	bool right;

	OK(cuCtxSynchronize());
	refresh(&trial->host);
	refresh(&trial->device);
	if (trial->copy.array != NULL)
		write_array();
	enqueue_work(trial);
	if (!trial->refused)
		expect_copy(trial);
	begin_capture(trial);
	standin_log_reset();
	CUresult code = trial->copy.call->run(&trial->copy);
	trial->pending = standin_pending(trial->stream);
	if (!CHECK_EQ(code, trial->row->code))
		print_trial(trial);
	right = took_route(trial);
	check_call(trial);
	check_on_return(trial);
	finish(trial);
	return right;
}

/* Waiting is always right, and was observed once without a known reason. */
static void run_trial(struct trial *trial)
{
	struct trial again = *trial;

	if (!carry_out(trial) && (trial->row->route != COPY_EARLY || !carry_out(&again)))
		EXPECT(trial, !"the route of the row");
}

/* Places the host's side around the boundary. */
static char *begin_in_host(const struct trial *trial, size_t span)
{
	const struct copy_host *memory = trial->memory;
	size_t half = smaller(span / 2, memory->border);

	return memory->at + trial->row->shift + memory->border - half;
}

static void place_device(struct trial *trial)
{
	struct copy *copy = &trial->copy;
	size_t span = copy_span_of(&copy->box.device, &copy->box);
	char *memory = standin_host(there);

	if (copy->array != NULL && trial->row->wrong == COPY_TOO_LONG)
		copy->box.device.x = COPY_ARRAY_BYTES - span / 2;
	size_t first = copy_begin_of(&copy->box.device);
	if (copy->array != NULL) {
		trial->device = image_of(array_bytes + first, span, array_bytes, COPY_ARRAY_BYTES,
					 device_expected);
		return;
	}
	copy->device = there + DEVICE_AT + trial->row->shift - first;
	if (trial->row->wrong == COPY_TOO_LONG)
		copy->device = there + DEVICE_BYTES - span / 2 - first;
	trial->device = image_of(memory + (copy->device + first - there), span, memory,
				 DEVICE_BYTES, device_expected);
}

static void spoil(struct trial *trial)
{
	if (trial->row->wrong == COPY_NOWHERE)
		trial->copy.device = 4096;
	if (trial->row->wrong == COPY_NO_HOST)
		trial->copy.host = NULL;
	if (trial->row->wrong == COPY_NO_STREAM)
		trial->copy.stream = (CUstream)0x99;
	if (trial->row->wrong == COPY_NOTHING)
		trial->copy.box.width = 0;
	trial->refused = trial->row->code != CUDA_SUCCESS || trial->row->wrong == COPY_NOTHING;
}

/* Places both sides of the copy, and gets the stream by its handle. */
static void place(struct trial *trial)
{
	struct copy *copy = &trial->copy;
	size_t span = copy_span_of(&copy->box.host, &copy->box);
	char *begin = begin_in_host(trial, span);

	CHECK(begin >= trial->memory->at &&
	      begin + span <= trial->memory->at + trial->memory->bytes);
	copy->host = begin - copy_begin_of(&copy->box.host);
	trial->host = image_of(begin, span, trial->memory->at, trial->memory->bytes, host_expected);
	place_device(trial);
	trial->stream = copy->stream;
	if (copy->stream == NULL && (copy->call->traits & COPY_OWN) != 0)
		trial->stream = CU_STREAM_PER_THREAD;
	spoil(trial);
}

/* True if the call can move such a box. */
static bool takes(const struct copy_call *call, const struct copy_box *box, bool in_array)
{
	if (in_array != ((call->traits & COPY_ARRAY) != 0) &&
	    !(in_array && (call->traits & COPY_ARRAYS) != 0))
		return false;
	/* Some calls count the elements of a row. */
	if (in_array && (call->traits & COPY_ARRAYS) != 0 &&
	    (box->device.x + box->width > COPY_ARRAY_PITCH || box->width % 4 != 0))
		return false;
	if (box->slices > 1 && (call->traits & COPY_SLICES) == 0)
		return false;
	if ((call->traits & COPY_BATCH) != 0)
		return box->rows * box->slices <= COPY_BATCH_MOST;
	return box->rows == 1 || (call->traits & COPY_ROWS) != 0;
}

/* Returns a box of `bytes` without gaps: rows of pages if the call has rows and pages are whole. */
static struct copy_box packed(const struct copy_call *call, size_t bytes, bool in_array)
{
	size_t page = in_array ? COPY_ARRAY_PITCH : 4096;
	bool in_rows = (call->traits & (COPY_ROWS | COPY_BATCH)) == COPY_ROWS && bytes % page == 0;
	size_t width = in_rows ? page : bytes, rows = bytes / width;
	struct copy_side host = { .pitch = width, .height = rows }, device = host;

	/* In the middle of an array. */
	if (in_array && in_rows)
		device.y = (COPY_ARRAY_SIDE - rows) / 2;
	else if (in_array)
		device.x = (COPY_ARRAY_BYTES - bytes) / 2;
	return (struct copy_box){ width, rows, 1, host, device };
}

/* Runs a copy of that form, if the call takes it.  Returns the number of copies. */
static unsigned run_shape(const struct copy_row *row, const struct copy_host *host,
			  struct copy *copy)
{
	struct copy_host memory = *host;
	struct trial trial = { .row = row, .memory = &memory, .copy = *copy };

	if (check_failures != 0 || !takes(copy->call, &copy->box, row->array))
		return 0;
	if (memory.kind == COPY_COLD)
		memory.at = malloc(memory.bytes);
	copy_host_heat(&memory);
	if (row->array)
		trial.copy.array = array;
	place(&trial);
	run_trial(&trial);
	if (memory.kind == COPY_COLD)
		free(memory.at);
	return 1;
}

/* Runs the copies of one call in one direction on one stream. */
static unsigned run_shapes(const struct copy_row *row, const struct copy_host *host,
			   struct copy *copy)
{
	unsigned made = 0;

	for (size_t i = 0; i < COUNT_OF(row->sizes) && row->sizes[i] != 0; i++) {
		copy->box = packed(copy->call, row->sizes[i], row->array);
		made += run_shape(row, host, copy);
	}
	for (size_t i = 0; i < COUNT_OF(row->boxes) && row->boxes[i].width != 0; i++) {
		copy->box = row->boxes[i];
		made += run_shape(row, host, copy);
	}
	return made;
}

static unsigned run_streams(const struct copy_row *row, const struct copy_host *host,
			    struct copy *copy)
{
	unsigned made = 0, streams = row->streams != 0 ? row->streams : 1u << COPY_NON_BLOCKING;

	if ((copy->call->traits & COPY_ASYNC) == 0)
		streams = 1u << COPY_NULL;
	if ((copy->call->traits & COPY_MADE) != 0)
		streams &= ~(1u << COPY_NULL | 1u << COPY_LEGACY);
	for (int kind = 0; kind < COPY_STREAMS; kind++) {
		if ((streams >> kind & 1) == 0)
			continue;
		copy->stream = copy_stream_of(kind);
		made += run_shapes(row, host, copy);
	}
	return made;
}

static bool is_named(const struct copy_call *call, const char *patterns)
{
	const char *name = call->name;
	char pattern[64];
	bool named = false;
	int read;

	for (; sscanf(patterns, " %63s%n", pattern, &read) == 1; patterns += read) {
		if (pattern[0] == '!' && fnmatch(pattern + 1, name, 0) == 0)
			return false;
		named = named || fnmatch(pattern, name, 0) == 0;
	}
	return named;
}

static unsigned run_call(const struct copy_row *row, const struct copy_host *host,
			 const struct copy_call *call)
{
	unsigned made = 0;

	if (!is_named(call, row->calls))
		return 0;
	for (int up = 1; up >= 0; up--) {
		struct copy copy = { .call = call, .to_device = up };

		if ((call->traits & (up ? COPY_UPLOADS : COPY_DOWNLOADS)) == 0 ||
		    (up ? row->down_only : row->up_only))
			continue;
		made += run_streams(row, host, &copy);
	}
	return made;
}

void copy_run_row(const struct copy_row *row)
{
	const CUDA_ARRAY_DESCRIPTOR form = { COPY_ARRAY_SIDE, COPY_ARRAY_SIDE,
					     CU_AD_FORMAT_UNSIGNED_INT32, 1 };
	char on_stack[COPY_STACK_BYTES];
	unsigned made = 0;

	copy_stack = on_stack;
	begin();
	OK(cuArrayCreate_v2(&array, &form));
	if (row->before != NULL)
		row->before();
	struct copy_host host = copy_host_make(row->memory, row->room != 0 ? row->room : 8 * MIB);

	for (unsigned turn = 0; turn < (row->turns != 0 ? row->turns : 1); turn++)
		for (size_t i = 0; i < copy_calls_count && check_failures == 0; i++)
			made += run_call(row, &host, &copy_calls[i]);
	CHECK(made != 0);
	if (row->stays_unpinned || row->registered != 0)
		CHECK_EQ(standin_registered_bytes(), preloaded() ? row->registered : 0);
	if (copy_host_is_hot(host.kind) && !row->may_unpin && row->capture != COPY_CAPTURED &&
	    host.kind != COPY_ENTERING)
		CHECK_EQ(standin_pinned(host.at) != 0, preloaded());
}
