/*
 * copies_sample.c - random rows: each turn chooses the call, its direction, the memory, the box,
 * the stream and the work before it.
 */
#include "copies.h"

/* No side of a box is longer. */
#define ROOM_MOST ((size_t)3 << 20)

static unsigned seed;

static size_t below(size_t most)
{
	return most == 0 ? 0 : (size_t)rand_r(&seed) % most;
}

static struct copy_side random_side(const struct copy_box *box, bool deep)
{
	struct copy_side side = { .x = below(3) ? 0 : below(300), .y = below(3) ? 0 : below(4) };

	side.pitch = side.x + box->width + (below(3) ? 0 : below(5000));
	side.height = side.y + box->rows + (below(3) ? 0 : below(5));
	if (deep)
		side.z = below(3) ? 0 : below(3);
	return side;
}

/* Returns a side of the array: its pitch is fixed, and it counts elements of four bytes. */
static struct copy_side array_side(const struct copy_box *box)
{
	struct copy_side side = { .pitch = COPY_ARRAY_PITCH, .height = COPY_ARRAY_SIDE };

	side.x = below((COPY_ARRAY_PITCH - box->width) / 4 + 1) * 4;
	side.y = below(COPY_ARRAY_SIDE - box->rows + 1);
	return side;
}

static size_t random_width(void)
{
	return 1 + below(below(2) ? 200 : below(2) ? 9000 : 400000);
}

/* Returns one run of bytes, of any length. */
static struct copy_box random_run(size_t room)
{
	static const size_t most[] = { 100, 16 << 10, 80 << 10, 300 << 10, 1 << 20, 3 << 20 };
	size_t limit = most[below(sizeof(most) / sizeof(most[0]))];
	struct copy_box run = { .rows = 1, .slices = 1 };

	run.width = 1 + below(limit < room ? limit : room);
	run.host.pitch = run.device.pitch = run.width;
	return run;
}

static struct copy_box random_box(const struct copy_call *call, bool in_array)
{
	struct copy_box box = { .width = random_width(), .rows = 1 + below(below(2) ? 4 : 300) };

	box.slices = (call->traits & COPY_SLICES) != 0 && !in_array ? 1 + below(6) : 1;
	box.host = random_side(&box, box.slices > 1);
	box.device = random_side(&box, box.slices > 1);
	if (!in_array)
		return box;
	box.width = 4 + below(COPY_ARRAY_PITCH / 4) * 4;
	box.host = random_side(&box, false);
	box.host.pitch = (box.host.x + box.width + 4 + below(1000)) / 4 * 4;
	box.device = array_side(&box);
	return box;
}

/* Chooses a box that the call takes, and that fits into `room`. */
static struct copy_box draw_box(const struct copy_call *call, size_t room, bool in_array, bool own)
{
	struct copy_box box;

	do {
		bool is_run = (call->traits & COPY_ROWS) == 0 || below(8) == 0;

		box = is_run ? random_run(in_array ? COPY_ARRAY_BYTES / 2 : room)
			     : random_box(call, in_array);
		/* The driver trusts the address of a side, not its offsets. */
		if (own)
			box.host.x = box.host.y = box.host.z = 0;
	} while (copy_span_of(&box.host, &box) > room ||
		 copy_begin_of(&box.device) + copy_span_of(&box.device, &box) >
			 (in_array ? COPY_ARRAY_BYTES : ROOM_MOST) ||
		 !copy_call_takes(call, &box, in_array));
	return box;
}

/* Copies of kinds with a boundary usually cross it. */
static struct copy_range draw_range(const struct copy_host *host, size_t span)
{
	struct copy_range range = { .from = below(host->bytes - span + 1), .bytes = span };

	if (below(4) != 0 && span <= host->border && host->border + span <= host->bytes)
		range.from = host->border - below(span + 1);
	return range;
}

/* True if without the library such a call returns while earlier work in its stream is held. */
static bool passes_held_work(const struct copy *copy, enum copy_memory kind)
{
	size_t bytes = copy->box.width * copy->box.rows * copy->box.slices;

	/* The library waits for batches of pinned blocks. */
	if ((copy->call->traits & COPY_ASYNC) == 0 || copy->stream == NULL ||
	    (copy->call->traits & COPY_MADE) != 0)
		return false;
	if (copy_host_is_own(kind))
		return true;
	return copy->to_device && bytes <= 64 * KIB;
}

/* The library may unpin the block; then the driver waits for the whole device. */
static bool has_border(enum copy_memory kind)
{
	return kind == COPY_LEAVING || kind == COPY_ENTERING || kind == COPY_ACROSS ||
	       kind == COPY_BETWEEN;
}

static enum copy_work draw_work(const struct copy_sample *sample, const struct copy *copy,
				enum copy_memory kind)
{
	unsigned works = sample->works != 0 ? sample->works : (1u << COPY_WORKS) - 1;
	enum copy_work work;

	do
		work = (enum copy_work)below(COPY_WORKS);
	while ((works >> work & 1) == 0);
	if (work == COPY_HELD && !passes_held_work(copy, kind))
		return COPY_BUSY;
	/* An upload from one block into another waits for its stream. */
	if ((work == COPY_HELD || work == COPY_CONCURRENT) && has_border(kind))
		return COPY_BUSY;
	return work;
}

/* The legacy stream is ordered with all blocking ones, so none is held then. */
static CUstream draw_stream(const struct copy_call *call)
{
	if ((call->traits & COPY_ASYNC) == 0)
		return NULL;
	enum copy_stream kind = (enum copy_stream)below(COPY_STREAMS);
	bool must_be_made = (call->traits & COPY_MADE) != 0 && kind <= COPY_LEGACY;
	return copy_stream_of(must_be_made || below(2) ? COPY_NON_BLOCKING : kind);
}

static const struct copy_host *host_of(enum copy_memory kind)
{
	static struct copy_host hosts[COPY_MEMORIES];

	if (hosts[kind].at == NULL)
		hosts[kind] = copy_host_make(kind, kind == COPY_STACK ? COPY_STACK_BYTES : 4 * MIB);
	return &hosts[kind];
}

static const struct copy_call *draw_call(const char *patterns)
{
	const struct copy_call *call;

	do
		call = &copy_calls[below(copy_calls_count)];
	while (patterns != NULL && !copy_call_is_named(call, patterns));
	return call;
}

static void run_turn(const struct copy_sample *sample)
{
	enum copy_memory kind;
	struct copy_row row = { .may_unpin = true };
	struct copy copy = { .call = draw_call(sample->calls) };
	unsigned traits = copy.call->traits;

	do
		kind = (enum copy_memory)below(COPY_MEMORIES);
	while ((sample->memories >> kind & 1) == 0);
	const struct copy_host *host = host_of(kind);
	size_t room = host->bytes < ROOM_MOST ? host->bytes : ROOM_MOST;

	row.array = (traits & COPY_ARRAY) != 0 || ((traits & COPY_ARRAYS) != 0 && below(4) == 0);
	copy.to_device =
		(traits & COPY_DOWNLOADS) == 0 || ((traits & COPY_UPLOADS) != 0 && below(2));
	copy.unified = (traits & COPY_UNIFIED) != 0 && below(4) == 0;
	copy.box = draw_box(copy.call, room, row.array, copy_host_is_own(kind));
	copy.stream = draw_stream(copy.call);
	row.work = draw_work(sample, &copy, kind);
	struct copy_range range = draw_range(host, copy_span_of(&copy.box.host, &copy.box));
	copy_run_one(&row, host, &copy, &range);
}

static void add(struct copy_counts *all, struct copy_counts last)
{
	all->events += last.events;
	all->uploads += last.uploads;
	all->downloads += last.downloads;
}

void copy_run_sample(const struct copy_sample *sample)
{
	char on_stack[COPY_STACK_BYTES];
	const struct copy_counts *least = &sample->least;
	struct copy_counts all = { 0 };

	copy_stack = on_stack;
	seed = sample->seed;
	copy_set_up();
	for (unsigned turn = 0; turn < sample->turns && check_failures == 0; turn++) {
		run_turn(sample);
		add(&all, copy_counts_of_last());
	}
	CHECK_EQ(all.events >= least->events, preloaded() || least->events == 0);
	CHECK_EQ(all.uploads >= least->uploads, preloaded() || least->uploads == 0);
	CHECK_EQ(all.downloads >= least->downloads, preloaded() || least->downloads == 0);
}
