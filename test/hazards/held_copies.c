/*
 * held_copies.c - copies of every size, between the device and every kind of memory, on every
 * stream, while one stream is held by a kernel.
 */
#include "held.h"
#include "shapes.h"

#include <sys/mman.h>

#define MOST  (16 * MIB)
#define WHOLE (64 * MIB)

enum way { UP, UP_ASYNC, DOWN, DOWN_ASYNC, UP_ROWS, DOWN_ROWS, UP_BATCH, DOWN_BATCH, WAYS };
enum memory { MAPPED, STATIC, HOT, WARM, FRESH, PINNED, MEMORIES };

static const char *const way_names[WAYS] = { "up",      "up async",  "down",     "down async",
					     "up rows", "down rows", "up batch", "down batch" };
static const char *const memory_names[MEMORIES] = { "mapped", "static", "hot",
						    "warm",   "fresh",  "pinned" };
static const char *const kind_names[STREAM_KINDS] = { "same", "other", "legacy", "own" };

static char static_block[WHOLE];
static char *mapped_block, *hot_block, *block;
static unsigned seed;

static bool is_up(const struct action *action)
{
	return action->way == UP || action->way == UP_ASYNC || action->way == UP_ROWS ||
	       action->way == UP_BATCH;
}

static void choose_block(const struct action *action)
{
	switch (action->memory) {
	case MAPPED:
		block = mapped_block;
		return;
	case STATIC:
		block = static_block;
		return;
	case HOT:
		if (hot_block != NULL && preloaded() && !is_pinned(hot_block)) {
			free(hot_block);
			hot_block = NULL;
		}
		if (hot_block == NULL)
			hot_block = promoted(MOST, 12);
		block = hot_block;
		return;
	case WARM:
		block = promoted(action->bytes, 1);
		return;
	case PINNED:
		OK(cu.cuMemAllocHost_v2((void **)&block, action->bytes));
		return;
	default:
		block = NULL;
	}
}

static void prepare(const struct action *action)
{
	seed += 3;
	choose_block(action);
	if (is_up(action)) {
		if (block != NULL)
			mark(block, action->bytes, seed);
		return;
	}
	mark(mapped_block, action->bytes, seed);
	OK(native.cuMemcpyHtoD_v2(there, mapped_block, action->bytes));
	OK(native.cuCtxSynchronize());
	mark(mapped_block, action->bytes, seed + 1);
}

/* As rows of which every second is skipped on the host. */
static CUresult rows(const struct action *action, CUstream on)
{
	size_t width = action->bytes / 64;
	struct side here = in_host(block, width), far = in_device(there, width);
	CUDA_MEMCPY2D box =
		is_up(action) ? shape_rows(far, here, width, 64) : shape_rows(here, far, width, 64);

	return action->kind == LEGACY ? cu.cuMemcpy2D_v2(&box) : cu.cuMemcpy2DAsync_v2(&box, on);
}

/* The batch has the halves of the block.  The legacy stream accepts no batch. */
static CUresult batch(const struct action *action, CUstream on)
{
	size_t half = action->bytes / 2, sizes[2] = { half, action->bytes - half }, index = 0;
	CUdeviceptr here[2] = { (CUdeviceptr)block, (CUdeviceptr)block + half },
		    far[2] = { there, there + half };
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL };
	bool up = is_up(action);

	return cu.cuMemcpyBatchAsync_v2(up ? far : here, up ? here : far, sizes, 2, &how, &index, 1,
					on);
}

static void copy(const struct action *action)
{
	CUstream on = kind_stream(action->kind);

	switch (action->way) {
	case UP:
		OK((action->kind == OWN ? own.put : cu.cuMemcpyHtoD_v2)(there, block,
									action->bytes));
		break;
	case UP_ASYNC:
		OK(cu.cuMemcpyHtoDAsync_v2(there, block, action->bytes, on));
		break;
	case DOWN:
		OK((action->kind == OWN ? own.get : cu.cuMemcpyDtoH_v2)(block, there,
									action->bytes));
		break;
	case DOWN_ASYNC:
		OK(cu.cuMemcpyDtoHAsync_v2(block, there, action->bytes, on));
		break;
	case UP_ROWS:
	case DOWN_ROWS:
		OK(rows(action, on));
		break;
	default:
		OK(batch(action, on));
	}
}

static bool waits_for_itself(const struct action *action)
{
	return action->memory != PINNED && action->way < UP_BATCH;
}

/* Makes several copies into a warm block, so that one of them, or the background, pins it. */
static void run(const struct action *action)
{
	if (action->memory == FRESH) {
		block = malloc(action->bytes);
		if (is_up(action))
			mark(block, action->bytes, seed);
	}
	for (int i = 0; i < (action->memory == WARM ? 5 : 1); i++)
		copy(action);
	/*
	 * A side that without the library has the bytes by now, or has given them, must not see
	 * later ones.
	 */
	if (waits_for_itself(action) && is_up(action))
		mark(block, action->bytes, seed + 2);
	else if (waits_for_itself(action))
		CHECK(marked(block, action->bytes, seed));
}

static void check(const struct action *action)
{
	if (is_up(action)) {
		OK(native.cuMemcpyDtoH_v2(mapped_block, there, action->bytes));
		CHECK(marked(mapped_block, action->bytes, seed));
	} else {
		CHECK(marked(block, action->bytes, seed));
	}
	if (action->memory == PINNED)
		OK(cu.cuMemFreeHost(block));
	else if (action->memory == WARM || action->memory == FRESH)
		free(block);
}

static void one(enum way way, enum memory memory, enum stream_kind kind, size_t bytes)
{
	struct action action = { .prepare = prepare,
				 .run = run,
				 .check = check,
				 .kind = kind,
				 .way = way,
				 .memory = memory,
				 .bytes = bytes };

	/* Synchronous copies use the legacy stream, batches do not. */
	if ((way == UP || way == DOWN) && kind != OWN)
		action.kind = LEGACY;
	if (way >= UP_BATCH && (kind == LEGACY || kind_stream(kind) == NULL))
		action.kind = OTHER;
	/* doc/limits.md: the library waits for a batch of pinned sources. */
	if (way == UP_BATCH && kind_is_held(action.kind) &&
	    (memory == HOT || memory == WARM || memory == FRESH))
		return;
	snprintf(action.name, sizeof(action.name), "%s %s %s %zu", way_names[way],
		 memory_names[memory], kind_names[action.kind], bytes);
	held(&action);
}

void held_copies(void)
{
	static const size_t sizes[] = { 64, 64 * KIB, MIB, MOST };
	unsigned turn = 0;

	mapped_block =
		mmap(NULL, WHOLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int way = 0; way < WAYS && check_failures < 10; way++)
		for (int memory = 0; memory < MEMORIES; memory++)
			for (int size = 0; size < 4; size++, turn++) {
				if ((way >= UP_BATCH && cu.cuMemcpyBatchAsync_v2 == NULL) ||
				    (!thorough && (turn + turn / 3) % 3 != 0))
					continue;
				/*
				 * Every stream is combined with every size in the course of two
				 * kinds.
				 */
				one(way, memory, (size + turn / 4) % STREAM_KINDS, sizes[size]);
				if (memory == HOT || memory == WARM)
					one(way, memory, (size + turn / 4 + 1) % STREAM_KINDS,
					    sizes[size]);
			}
	free(hot_block);
	hot_block = NULL;
	if (!thorough)
		return;
	one(UP, MAPPED, LEGACY, WHOLE);
	one(UP_ASYNC, STATIC, OTHER, WHOLE);
	one(UP, WARM, OWN, WHOLE);
	one(DOWN, WARM, LEGACY, WHOLE);
	one(DOWN_ASYNC, MAPPED, OTHER, WHOLE);
	one(DOWN, FRESH, OWN, WHOLE);
}
