/*
 * batch_runs.c - cuts copies of bytes into pieces that the driver accepts.
 */
#include "engine/batch_runs.h"
#include "base/arena.h"
#include "base/protections.h"
#include "heap/map.h"
#include "pin/pin.h"
#include "stage/stageable.h"

/* Returns how many bytes one copy may have: each side in one registration, or in none. */
static size_t piece_at(CUdeviceptr to, CUdeviceptr from, size_t most)
{
	return pin_run((const void *)from, pin_run((const void *)to, most));
}

/* Returns the number of pieces; stores them in `ours`, up to its count. */
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

/* True if the driver knows no end of the side's memory within the copy, or if it is a block's. */
static bool side_fits(CUdeviceptr side, size_t bytes)
{
	return heap_touches((const void *)side, bytes) || stage_fits(side, bytes);
}

/*
 * True if the driver would refuse no copy for its length.  The driver refuses a copy that is too
 * long as a whole, but would carry out the first of its pieces.
 */
static bool all_fit(const struct runs *runs)
{
	for (size_t i = 0; i < runs->count; i++)
		if (crosses(runs, i) && (!side_fits(runs->from[i], runs->bytes[i]) ||
					 !side_fits(runs->to[i], runs->bytes[i])))
			return false;
	return true;
}

void runs_begin(struct runs *runs, const struct batch *batch, size_t kinds)
{
	if (batch->captured || runs->to == NULL || runs->from == NULL || runs->bytes == NULL ||
	    runs->indices == NULL || kinds > runs->count)
		return;
	runs->copies = runs->count;
	struct runs given = *runs, ours = *runs;
	if (!any_crosses(&given) || !hp_keeps(batch_cut))
		return;
	/* If the batch is not cut, batch_unpin_side() unpins its blocks. */
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
	/* Another thread may have pinned a block between the two passes. */
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

void runs_end(const struct runs *runs, size_t *failed, CUresult result)
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
