/*
 * crowd.c - steps in which many threads share one block.
 *
 * In all other steps, threads take turns.  Here up to 16 threads copy from and into one block at
 * the same time, each its own tile of it, or read the same bytes into their own memory.  So what
 * they observe and what calls return is determined.  The library may pin the block at that moment,
 * or may have unpinned it.  The block may have been freed and allocated again, or registered by the
 * program.
 */
#include "walk.h"
#include "shapes.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMBERS   16
#define JOBS      6
#define TILE_MOST ((size_t)112 << 10)

enum kind { UP, UP_UNIFIED, UP_ROWS, UP_WAITING, DOWN, DOWN_WAITING, SET, UP_ALL };
static const char *const kind_names[] = { "cuMemcpyHtoDAsync", "cuMemcpyAsync",
					  "cuMemcpy2DAsync",   "cuMemcpyHtoD",
					  "cuMemcpyDtoHAsync", "cuMemcpyDtoH",
					  "cuMemsetD8Async",   "cuMemcpyHtoD, thrice," };

struct job {
	enum kind kind;
	int flavor;
	size_t from, to, bytes; /* in the block and in device memory */
	uint64_t key;           /* overwrites the source after the call; 0: does not */
	CUresult result;
	int error;
};

static struct member {
	pthread_t thread;
	CUstream stream;
	unsigned jobs;
	struct job job[JOBS];
} members[MEMBERS];

static unsigned count;
static bool in_step; /* all begin a job at the same time, and have the same number of jobs */
static CUcontext current;
static pthread_barrier_t begins;

/* The shared memory. */
static char *block;
static size_t block_bytes;
static CUdeviceptr there, elsewhere; /* of the same size, for the threads and for UP_ALL */
static bool registered;

static CUresult copy_rows(const struct job *job, const struct driver *call, CUstream stream)
{
	CUDA_MEMCPY2D rows =
		shape_rows(in_device(there + job->to, job->bytes / 8),
			   in_host(block + job->from, job->bytes / 8), job->bytes / 8 - 64, 8);

	return call->cuMemcpy2DAsync_v2(&rows, stream);
}

static CUresult take(const struct job *job, CUstream stream)
{
	const struct driver *call = &cu[job->flavor];
	char *at = block + job->from;
	CUdeviceptr to = there + job->to;
	CUresult result = CUDA_SUCCESS;

	switch (job->kind) {
	case UP:
		return call->cuMemcpyHtoDAsync_v2(to, at, job->bytes, stream);
	case UP_UNIFIED:
		return call->cuMemcpyAsync(to, (CUdeviceptr)at, job->bytes, stream);
	case UP_ROWS:
		return copy_rows(job, call, stream);
	case UP_WAITING:
		return call->cuMemcpyHtoD_v2(to, at, job->bytes);
	case DOWN:
		return call->cuMemcpyDtoHAsync_v2(at, to, job->bytes, stream);
	case DOWN_WAITING:
		return call->cuMemcpyDtoH_v2(at, to, job->bytes);
	case SET:
		return call->cuMemsetD8Async(to, (unsigned char)job->from, job->bytes, stream);
	default:
		for (int i = 0; i < 3 && result == CUDA_SUCCESS; i++)
			result = call->cuMemcpyHtoD_v2(elsewhere, block, block_bytes);
		return result;
	}
}

static void *run_member(void *arg)
{
	struct member *my = arg;

	cu[0].cuCtxSetCurrent(current);
	pthread_barrier_wait(&begins);
	for (struct job *job = my->job; job < my->job + my->jobs; job++) {
		if (in_step)
			pthread_barrier_wait(&begins);
		errno = 77;
		job->result = take(job, my->stream);
		job->error = errno;
		if (job->key != 0)
			fill(block + job->from, job->bytes, job->key);
	}
	/* A driver may never notice the end of a thread that ends with work in flight. */
	if (!stand_in)
		cu[0].cuCtxSynchronize();
	return NULL;
}

/* Chooses a start before one of the places where registrations of the library may end. */
static size_t some_place(size_t bytes)
{
	size_t border = (1 + below(block_bytes / (2 * MIB))) * 2 * MIB;
	size_t at = border - (bytes < border ? below(bytes) : border);

	return at + bytes <= block_bytes ? at & ~(size_t)7 : 0;
}

static bool reads_block(enum kind kind)
{
	return kind <= UP_WAITING;
}

/* Gives each thread tiles of its own, one after the other. */
static void draw_tiles(size_t tile)
{
	size_t jobs = 1 + below(JOBS), at = some_place(tile * jobs * count);

	while (at + tile * jobs * count > block_bytes)
		jobs--;
	for (unsigned m = 0; m < count; m++) {
		members[m].jobs = (unsigned)jobs;
		for (size_t j = 0; j < jobs; j++, at += tile) {
			struct job *job = &members[m].job[j];

			*job = (struct job){ .kind = one_in(2) ? UP : (enum kind)below(UP_ALL),
					     .flavor = one_in(4),
					     .from = at,
					     .to = at,
					     .bytes = tile };
			if (reads_block(job->kind) && !registered && one_in(2))
				job->key = draw() | 1;
		}
	}
}

/*
 * All read where a registration may end, each into its own device memory.  One may copy the block
 * at the same time until it is pinned.
 */
static void draw_shared(size_t tile)
{
	size_t borders = block_bytes / (2 * MIB) - 1, room = block_bytes / MEMBERS;
	enum kind kind = one_in(2) ? UP : (enum kind)below(UP_WAITING + 1);
	size_t jobs = room / tile < JOBS ? room / tile : JOBS, first = below(block_bytes);

	for (unsigned m = 0; m < count; m++) {
		members[m].jobs = (unsigned)jobs;
		for (size_t j = 0; j < jobs; j++) {
			size_t border = (1 + (first + m + j) % borders) * 2 * MIB;

			members[m].job[j] = (struct job){ .kind = kind,
							  .flavor = one_in(4),
							  .from = border - tile / 2 / 8 * 8,
							  .to = m * room + j * tile,
							  .bytes = tile };
		}
	}
	in_step = elsewhere == 0;
	if (elsewhere != 0) {
		members[0].jobs = 1;
		members[0].job[0] = (struct job){ .kind = UP_ALL };
	}
}

static void tell_members(void)
{
	for (unsigned m = 0; m < count; m++)
		for (unsigned j = 0; j < members[m].jobs; j++) {
			const struct job *job = &members[m].job[j];

			told(job->result, job->error,
			     "member %u: %s%s(block %zu, device %zu, %zu)%s", m,
			     kind_names[job->kind], job->flavor ? ", per thread" : "", job->from,
			     job->to, job->bytes, job->key != 0 ? ", overwritten" : "");
		}
}

static void run_round(void)
{
	size_t tile = one_in(2) ? 12000 : one_in(2) ? 100000 : 64 + below(TILE_MOST - 64);

	tile &= ~(size_t)63;
	count = !one_in(4) ? MEMBERS : 2 + (unsigned)below(MEMBERS - 1);
	in_step = false;
	if (elsewhere != 0 || one_in(2))
		draw_shared(tile);
	else
		draw_tiles(tile);
	pthread_barrier_init(&begins, NULL, count);
	for (unsigned m = 0; m < count; m++)
		if (pthread_create(&members[m].thread, NULL, run_member, &members[m]) != 0)
			fail("no thread");
	for (unsigned m = 0; m < count; m++)
		pthread_join(members[m].thread, NULL);
	pthread_barrier_destroy(&begins);
	tell_members();
	SAY(cu[0].cuCtxSynchronize(), "cuCtxSynchronize()");
}

static void make_block(void)
{
	block = one_in(4) ? aligned_alloc(PAGE, block_bytes) : malloc(block_bytes);
	if (block == NULL)
		fail("no memory");
	fill(block, block_bytes, draw());
}

/* Copies so often that the block is pinned, or nearly. */
static void copy_block(unsigned turns)
{
	for (unsigned i = 0; i < turns; i++)
		SAY(cu[0].cuMemcpyHtoD_v2(there, block, block_bytes),
		    "cuMemcpyHtoD(device, block, %zu)", block_bytes);
}

/*
 * Makes the library unpin the block: for the child of a fork, or for the program's own
 * registration.
 */
static void have_it_unpinned(void)
{
	pid_t child;

	if (p.pins && one_in(2)) {
		SAY(cu[0].cuMemHostRegister_v2(block, block_bytes, 0), "cuMemHostRegister(block)");
		SAY(cu[0].cuMemHostUnregister(block), "cuMemHostUnregister(block)");
		return;
	}
	child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void prepare(void)
{
	switch (below(8)) {
	case 0: /* it was never copied */
		break;
	case 1:
		copy_block(1 + (unsigned)below(4));
		have_it_unpinned();
		break;
	case 2:
		copy_block(1 + (unsigned)below(4));
		free(block);
		make_block();
		break;
	case 3:
		if (!p.pins)
			break;
		registered = true;
		SAY(cu[0].cuMemHostRegister_v2(block, block_bytes, 0), "cuMemHostRegister(block)");
		break;
	default:
		/* A large block is copied once: its next copy may pin it. */
		copy_block(block_bytes >= 16 * MIB ? 1 : 1 + (unsigned)below(12));
		break;
	}
}

static void read_device(void)
{
	static char room[64 * KIB];
	uint64_t hash = 0;

	for (size_t at = 0; at < block_bytes; at += sizeof(room)) {
		cu[0].cuMemcpyDtoH_v2(room, there + at, sizeof(room));
		hash = (hash ^ hash_of(room, sizeof(room))) * 0x9e3779b97f4a7c15ull;
	}
	tell(hash);
	tell(hash_of(block, block_bytes));
	note("the device has %016llx, the block %016llx", (unsigned long long)hash,
	     (unsigned long long)hash_of(block, block_bytes));
}

void step_crowd(void)
{
	unsigned rounds = 1 + (unsigned)below(3);
	bool pinned_meanwhile = one_in(4);

	if (p.frozen)
		return;
	block_bytes = (one_in(2) ? 16 + below(2) : 4 + below(4)) * MIB;
	current = p.context[my_context()];
	registered = false;
	there = elsewhere = 0;
	SAY(cu[0].cuMemAlloc_v2(&there, block_bytes), "device = cuMemAlloc(%zu)", block_bytes);
	SAY(cu[0].cuMemsetD8_v2(there, 1, block_bytes), "cuMemsetD8(device)");
	if (pinned_meanwhile)
		SAY(cu[0].cuMemAlloc_v2(&elsewhere, block_bytes), "cuMemAlloc(%zu)", block_bytes);
	for (unsigned m = 0; m < MEMBERS; m++)
		cu[0].cuStreamCreate(&members[m].stream,
				     one_in(4) ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
	make_block();
	if (!pinned_meanwhile)
		prepare();
	SAY(cu[0].cuCtxSynchronize(), "cuCtxSynchronize()");
	for (unsigned i = 0; i < rounds; i++) {
		run_round();
		if (!registered && one_in(6))
			have_it_unpinned();
	}
	read_device();
	for (unsigned m = 0; m < MEMBERS; m++)
		cu[0].cuStreamDestroy_v2(members[m].stream);
	if (registered)
		SAY(cu[0].cuMemHostUnregister(block), "cuMemHostUnregister(block)");
	free(block);
	cu[0].cuMemFree_v2(there);
	if (elsewhere != 0)
		cu[0].cuMemFree_v2(elsewhere);
}
