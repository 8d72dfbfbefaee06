/*
 * sending.c - copies of a block that is pinned in several registrations, or just being so.
 *
 * A call that names two registrations is refused (CUDA_ERROR_INVALID_VALUE; H200, driver 580.159).
 * All pieces but the last are enqueued on the stream that the program's call means.  The last is
 * left to the program's own function, which comes behind them and waits if it is one that waits.
 */
#include "copy/stage.h"
#include "host/range.h"
#include "shim/copy.h"

bool shim_may_send(const struct shim_copy *copy)
{
	struct stage_copy stage = shim_stage_describe(copy);

	return copy->far != 0 && !copy->rows && stage_may_cut(&stage);
}

/* Bytes of the piece that is next; 0: the driver will not pin it. */
static size_t next_piece(struct shim_copy *copy)
{
	const char *from = (const char *)copy->host + copy->done;

	if (copy->pieces.block != NULL && !pin_pieces_reach(&copy->pieces, from))
		return 0;
	return range_run(copy->block, from);
}

static void enqueue_all_but_the_last(struct shim_copy *copy)
{
	struct stage_copy stage = shim_stage_describe(copy);

	for (size_t bytes; (bytes = next_piece(copy)) != 0 && bytes < copy->bytes - copy->done;) {
		char *host = (char *)copy->host + copy->done;

		if (stage_enqueue(&stage, copy->done, host, bytes) != CUDA_SUCCESS)
			return;
		copy->done += bytes;
	}
}

/*
 * The block is pinned, or pageable again: then the driver does the rest at once.  Unpinning waits
 * for what is on its way.
 */
static void end_pieces(struct shim_copy *copy)
{
	copy->pinned_meanwhile = true;
	if (!pin_pieces_end(&copy->pieces)) {
		copy->place = COPY_PAGEABLE;
		copy->route = COPY_PASS;
	}
	copy->pieces.block = NULL;
}

void shim_send(struct shim_copy *copy)
{
	if (shim_stage_enter())
		enqueue_all_but_the_last(copy);
	shim_stage_leave();
	if (copy->pieces.block != NULL)
		end_pieces(copy);
	/* What could not be enqueued: the program's function finds out why. */
	if (copy->route == COPY_SEND &&
	    range_run(copy->block, (const char *)copy->host + copy->done) <
		    copy->bytes - copy->done)
		copy->route = COPY_SPLIT;
}
