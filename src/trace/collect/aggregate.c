/*
 * aggregate.c - adds CUPTI's records to sums.
 *
 * The time stamps of a record are checked before use.  0 means "not collected".  Forced flushes
 * have delivered records that end before their start.  Short operations may have no duration.
 */
#include "trace/collect/aggregate.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/parse.h"
#include "trace/calls/capture_range.h"
#include "trace/calls/launches.h"
#include "trace/collect/correlation.h"
#include "trace/collect/details.h"
#include "trace/collect/rewritten.h"

#include <errno.h>
#include <string.h>

/* The least size of a copy that occupies the bus long enough to measure its rate. */
#define LARGE_BYTES ((uint64_t)16 << 20)

/*
 * The latest names, by CUPTI's pointer.  Each use verifies the name, since it may be gone with an
 * unloaded module.
 */
static struct {
	const char *pointer;
	struct profile_kernel *kernel;
} recent[256];

int aggregate_init(struct aggregate *aggregate, uint64_t began_ns)
{
	struct split_span *spans = hp_arena_alloc(AGGREGATE_SPANS * sizeof(*spans));

	memset(aggregate, 0, sizeof(*aggregate));
	aggregate->kernels =
		keys_start(&aggregate->names, AGGREGATE_KERNELS_MOST, sizeof(*aggregate->kernels));
	if (spans == NULL || aggregate->kernels == NULL)
		return -ENOMEM;
	aggregate->kernels[AGGREGATE_KERNELS_MOST].name = "(others)";
	aggregate->began_ns = began_ns;
	split_init(&aggregate->split, spans, AGGREGATE_SPANS, began_ns);
	if (!capture_range_is_all())
		split_begin_outside(&aggregate->split);
	return 0;
}

/* Returns a new kernel, or the one for all others. */
static struct profile_kernel *new_kernel(struct aggregate *aggregate, const char *name,
					 uint64_t hash)
{
	size_t bytes = strlen(name) + 1;
	struct profile_kernel *others = &aggregate->kernels[AGGREGATE_KERNELS_MOST];

	if (aggregate->names.rows == AGGREGATE_KERNELS_MOST ||
	    aggregate->name_bytes + bytes > AGGREGATE_NAME_BYTES)
		return others;
	char *copy = hp_arena_alloc(bytes);
	if (copy == NULL)
		return others;
	memcpy(copy, name, bytes);
	aggregate->name_bytes += bytes;
	struct profile_kernel *kernel = &aggregate->kernels[keys_add(&aggregate->names, hash)];
	kernel->name = copy;
	return kernel;
}

static struct profile_kernel *find_kernel(struct aggregate *aggregate, const char *name)
{
	size_t slot = ((uintptr_t)name >> 4) % HP_LEN(recent);
	struct profile_kernel *kernel = recent[slot].kernel;

	if (name == NULL)
		name = "";
	else if (kernel != NULL && recent[slot].pointer == name && strcmp(kernel->name, name) == 0)
		return kernel;
	uint64_t hash = hp_mix_text(0, name);
	uint32_t row = keys_find(&aggregate->names, hash);
	kernel = row != KEYS_NONE ? &aggregate->kernels[row] : new_kernel(aggregate, name, hash);
	recent[slot].pointer = name;
	recent[slot].kernel = kernel;
	return kernel;
}

/*
 * Adds start..end, converted to our clock, to `layer`.  Returns the duration, or 0 if it is not
 * reliable.
 */
static uint64_t add_to_split(struct aggregate *aggregate, enum split_layer layer, uint64_t start,
			     uint64_t end)
{
	if (start == 0 && end == 0) {
		aggregate->untimed++;
		return 0;
	}
	uint64_t from = clockmap_to_ours(&aggregate->clock, start);
	uint64_t to = clockmap_to_ours(&aggregate->clock, end);

	if (from + CLOCKMAP_WORK_ERROR_NS < aggregate->began_ns ||
	    to > aggregate->now_ns + CLOCKMAP_WORK_ERROR_NS) {
		aggregate->outside++;
		return end - start;
	}
	if (to > aggregate->latest_ns)
		aggregate->latest_ns = to;
	split_add(&aggregate->split, layer, from, to);
	return end - start;
}

/*
 * True if work is in the capture range: if it begins there.  Work without a time is, if its record
 * arrives there.
 */
static bool is_in_range(const struct aggregate *aggregate, uint64_t start)
{
	return capture_range_holds(start != 0 ? clockmap_to_ours(&aggregate->clock, start)
					      : aggregate->now_ns);
}

#define STREAM_OF(record)                                           \
	(&(const struct event_track){ .kind = EVENT_STREAM,         \
				      .device = (record)->device,   \
				      .context = (record)->context, \
				      .stream = (record)->stream })

/*
 * Adds an event to the timeline, on the track of the record's stream, if the record has a time.
 * `caller` is NULL if no call is known.
 */
static void note_event(struct aggregate *aggregate, struct event event, uint64_t start,
		       const struct event_track *stream, const struct correlation_caller *caller)
{
	if (!events_wanted() || start == 0)
		return;
	/* Most events follow one of the same stream. */
	if (aggregate->track_known == 0 || aggregate->stream.stream != stream->stream ||
	    aggregate->stream.context != stream->context ||
	    aggregate->stream.device != stream->device) {
		aggregate->stream = *stream;
		aggregate->track_known = events_track(stream) + 1;
	}
	event.track = (uint16_t)(aggregate->track_known - 1);
	event.start_ns = clockmap_to_ours(&aggregate->clock, start);
	event.site = UINT32_MAX;
	if (caller != NULL)
		events_called_by(&event, caller);
	events_add(&event);
}

/*
 * False for an operation that began but has not ended, which is counted.  A forced flush delivers
 * such a record, and it is not delivered again.
 */
static bool has_ended(struct aggregate *aggregate, uint64_t start, uint64_t end)
{
	aggregate->incomplete += end < start;
	return end >= start;
}

static void add(struct aggregate_sum *sum, uint64_t bytes, uint64_t busy_ns)
{
	sum->count++;
	sum->bytes += bytes;
	sum->busy_ns += busy_ns;
	if (busy_ns == 0)
		sum->untimed_bytes += bytes;
}

static enum trace_memory memory_of(uint8_t kind)
{
	static const enum trace_memory kinds[CUPTI_MEMORY_KINDS] = {
		[CUPTI_MEMORY_UNKNOWN] = TRACE_UNKNOWN,
		[CUPTI_PAGEABLE] = TRACE_PAGEABLE,
		[CUPTI_PINNED] = TRACE_PINNED,
		[CUPTI_DEVICE] = TRACE_DEVICE,
		[CUPTI_ARRAY] = TRACE_ARRAY,
		[CUPTI_MANAGED] = TRACE_MANAGED,
		[CUPTI_DEVICE_STATIC] = TRACE_DEVICE,
		[CUPTI_MANAGED_STATIC] = TRACE_MANAGED,
	};

	return kind < CUPTI_MEMORY_KINDS ? kinds[kind] : TRACE_UNKNOWN;
}

static enum trace_direction direction_of(uint8_t copy_kind)
{
	static const enum trace_direction kinds[] = {
		[0] = TRACE_DIRECTIONS,  [CUPTI_H2D] = TRACE_H2D, [CUPTI_D2H] = TRACE_D2H,
		[CUPTI_H2A] = TRACE_H2D, [CUPTI_A2H] = TRACE_D2H, [CUPTI_A2A] = TRACE_D2D,
		[CUPTI_A2D] = TRACE_D2D, [CUPTI_D2A] = TRACE_D2D, [CUPTI_D2D] = TRACE_D2D,
		[CUPTI_H2H] = TRACE_H2H, [CUPTI_P2P] = TRACE_P2P,
	};

	return copy_kind < HP_LEN(kinds) ? kinds[copy_kind] : TRACE_DIRECTIONS;
}

static void note_device(struct aggregate *aggregate, uint32_t device)
{
	if (device < AGGREGATE_DEVICES)
		aggregate->device_mask |= (uint64_t)1 << device;
}

/* Adds a piece of a staged copy.  False: it is a copy of its own. */
static bool add_piece(struct aggregate *aggregate, enum trace_direction direction,
		      const struct cupti_memcpy *record, const struct correlation_caller *caller,
		      uint64_t ns)
{
	struct rewritten whole;

	if (ns == 0 || !rewritten_claim(REWRITTEN_STAGED, direction, record->bytes, caller, &whole))
		return false;

	struct aggregate_sum *sum = &aggregate->copies[direction][TRACE_STAGED];
	struct profile_size *bin =
		&aggregate->sizes[direction][TRACE_STAGED].bin[sizes_bin_of(whole.bytes)];
	add(sum, record->bytes, ns);
	bool is_first = whole.left == whole.bytes;
	sum->count -= !is_first;
	bin->count += is_first;
	bin->bytes += (int64_t)record->bytes;
	bin->busy_ns += (int64_t)ns;
	return true;
}

/*
 * Without deferral, the host would have waited from the return of the call to the end of the copy.
 */
static void note_deferred(struct aggregate *aggregate, const struct cupti_memcpy *record,
			  const struct correlation_caller *caller)
{
	struct rewritten copy;

	if (rewritten_claim(REWRITTEN_DEFERRED, TRACE_H2D, record->bytes, caller, &copy))
		split_add(&aggregate->split, SPLIT_DEFERRED, copy.end_ns,
			  clockmap_to_ours(&aggregate->clock, record->end));
}

/* Adds the bytes of a copy over the bus to the bin where it began. */
static void note_bytes(struct aggregate *aggregate, enum trace_direction direction,
		       const struct cupti_memcpy *record)
{
	strip_add_count(&aggregate->split.strip,
			direction == TRACE_H2D ? STRIP_UP_BYTES : STRIP_DOWN_BYTES,
			clockmap_to_ours(&aggregate->clock, record->start), record->bytes);
}

static void add_copy(struct aggregate *aggregate, const struct cupti_memcpy *record,
		     const struct correlation_caller *caller)
{
	enum trace_direction direction = direction_of(record->copy_kind);
	uint8_t kind = direction == TRACE_D2H ? record->target_kind : record->source_kind;
	bool on_devices = direction == TRACE_D2D || direction == TRACE_P2P;
	bool on_the_bus = direction == TRACE_H2D || direction == TRACE_D2H;

	if (!has_ended(aggregate, record->start, record->end))
		return;
	enum trace_memory memory = memory_of(kind);
	uint64_t ns = add_to_split(aggregate, on_devices ? SPLIT_KERNEL : SPLIT_TRANSFER,
				   record->start, record->end);

	if (!is_in_range(aggregate, record->start)) {
		aggregate->outside_copies += on_the_bus;
		aggregate->outside_bytes += on_the_bus ? record->bytes : 0;
		return;
	}
	note_device(aggregate, record->device);
	bool is_piece = memory == TRACE_PINNED && !on_devices &&
			add_piece(aggregate, direction, record, caller, ns);
	note_event(
		aggregate,
		(struct event){ .kind = EVENT_COPY,
				.duration_ns = ns,
				.name = events_name((int)direction,
						    is_piece ? TRACE_STAGED : memory, EVENT_WAITS),
				.bytes = record->bytes },
		record->start, STREAM_OF(record), caller);
	if (ns != 0 && on_the_bus)
		note_bytes(aggregate, direction, record);
	if (is_piece)
		return;
	if (direction == TRACE_H2D)
		note_deferred(aggregate, record, caller);
	add(&aggregate->copies[direction][memory], record->bytes, ns);
	sizes_add(&aggregate->sizes[direction][memory], record->bytes, ns);
	if (memory == TRACE_PINNED && record->bytes >= LARGE_BYTES && ns > 0) {
		uint64_t rate = (uint64_t)((__uint128_t)record->bytes * 1000000000 / ns);

		if (rate > aggregate->fastest[direction])
			aggregate->fastest[direction] = rate;
	}
}

static void add_memset(struct aggregate *aggregate, const struct cupti_memset *record)
{
	if (!has_ended(aggregate, record->start, record->end))
		return;
	uint64_t ns = add_to_split(aggregate, SPLIT_KERNEL, record->start, record->end);
	if (!is_in_range(aggregate, record->start))
		return;
	note_device(aggregate, record->device);
	add(&aggregate->memsets, record->bytes, ns);
	note_event(
		aggregate,
		(struct event){ .kind = EVENT_MEMSET, .duration_ns = ns, .bytes = record->bytes },
		record->start, STREAM_OF(record), NULL);
}

/* A correlation_take_fn. */
static void take_work(void *arg, const struct correlation_work *work,
		      const struct correlation_caller *caller)
{
	if (!work->is_kernel)
		add_copy(arg, &work->copy, caller);
	else if (caller != NULL)
		launches_joined(work->kernel, caller->place, work->busy_ns);
}

static void add_kernel_run(struct aggregate *aggregate, const struct cupti_kernel *record)
{
	if (!has_ended(aggregate, record->start, record->end))
		return;
	uint64_t ns = add_to_split(aggregate, SPLIT_KERNEL, record->start, record->end);
	if (!is_in_range(aggregate, record->start)) {
		aggregate->outside_kernels++;
		return;
	}
	struct profile_kernel *kernel = find_kernel(aggregate, record->name);

	note_device(aggregate, record->device);
	note_event(aggregate,
		   (struct event){ .kind = EVENT_KERNEL,
				   .duration_ns = ns,
				   .name = (uint32_t)(kernel - aggregate->kernels),
				   .bytes = UINT64_MAX,
				   .detail = events_wanted() ? details_shape(record) : 0 },
		   record->start, STREAM_OF(record), NULL);
	add(&aggregate->kernel_runs, 0, ns);
	aggregate->kernels_unnamed += kernel == &aggregate->kernels[AGGREGATE_KERNELS_MOST];
	const struct correlation_work run = {
		.is_kernel = true,
		.kernel = (uint32_t)(kernel - aggregate->kernels),
		.busy_ns = ns,
	};
	if (launches_ran(run.kernel, ns))
		correlation_worked(record->correlation, &run, take_work, aggregate);
	kernel->count++;
	kernel->busy_ns += (int64_t)ns;
	if ((int64_t)ns > kernel->longest_ns)
		kernel->longest_ns = (int64_t)ns;
}

void aggregate_turn(struct aggregate *aggregate, uint64_t now_ns, bool last)
{
	aggregate->now_ns = now_ns;
	correlation_turn(last, take_work, aggregate);
}

static bool is_launch(const struct cupti_call *call)
{
	switch (call->function) {
#define LAUNCH_CALL(function, number) case number:
#include "trace/collect/launch_calls.def"
		return true;
	default:
		return false;
	}
}

static void add_call(struct aggregate *aggregate, const struct cupti_call *call)
{
	/* The middle of a call is inside the call even if the clocks differ a little. */
	uint64_t middle = call->start + (call->end - call->start) / 2;
	struct correlation_caller caller = {
		.thread = call->thread,
		.place = LAUNCHES_MOST,
		.at_ns = clockmap_to_ours(&aggregate->clock, call->start),
	};

	if (is_launch(call))
		caller.place = launches_place_at(call->thread,
						 clockmap_to_ours(&aggregate->clock, middle));
	correlation_called(call->correlation, &caller, take_work, aggregate);
}

/* The number of a copy between devices is not known. */
static void add_any_copy(struct aggregate *aggregate, const struct cupti_memcpy *record)
{
	struct correlation_work work = { .copy = *record };

	correlation_worked(record->kind == CUPTI_MEMCPY ? record->correlation : 0, &work, take_work,
			   aggregate);
}

void aggregate_record(struct aggregate *aggregate, const void *record, uint64_t now_ns)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	aggregate->now_ns = now_ns;
	aggregate->records++;
	switch (kind) {
	case CUPTI_MEMCPY:
	case CUPTI_MEMCPY2:
		add_any_copy(aggregate, record);
		break;
	case CUPTI_DRIVER_CALL:
		add_call(aggregate, record);
		break;
	case CUPTI_MEMSET:
		add_memset(aggregate, record);
		break;
	case CUPTI_KERNEL:
	case CUPTI_CONCURRENT_KERNEL:
		add_kernel_run(aggregate, record);
		break;
	default: /* of another client of CUPTI */
		break;
	}
}

bool aggregate_is_alignable(const struct aggregate *aggregate)
{
	return aggregate->outside * 100 <= aggregate->records;
}
