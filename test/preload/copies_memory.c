/*
 * copies_memory.c - the kinds of memory that rows of copies name.
 */
#include "copies.h"

#include <sys/mman.h>

/* Size of a room without the space for address coloring. */
#define NEIGHBOR_BYTES (COPY_ROOM - 64 * KIB)

static char array[32 * MIB] = { 1 };
char *copy_stack;

static char *map(size_t bytes, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

static char *map_file(size_t bytes)
{
	int fd = memfd_create("copies", MFD_CLOEXEC);

	CHECK_EQ(ftruncate(fd, (off_t)bytes), 0);
	return map(bytes, fd);
}

static char *registered(size_t bytes)
{
	char *at = map(bytes, -1);

	OK(cuMemHostRegister_v2(at, bytes, 0));
	return at;
}

static char *allocated(size_t bytes)
{
	void *at = NULL;

	OK(cuMemHostAlloc(&at, bytes, 0));
	return at;
}

/* Stores two blocks of many of which the second begins in the room after the first. */
static void find_neighbors(char *pair[2])
{
	static char *blocks[64];

	for (int i = 0; i < 64; i++)
		blocks[i] = calloc(1, NEIGHBOR_BYTES);
	for (int i = 0; i < 64; i++)
		for (int at = 0; at < 64; at++)
			if (blocks[at] > blocks[i] &&
			    blocks[at] < blocks[i] + COPY_ROOM + 64 * KIB) {
				pair[0] = blocks[i];
				pair[1] = blocks[at];
				return;
			}
}

/* Without the library, one allocation serves as both neighbors. */
static void make_neighbors(struct copy_host *host, bool heat_low, bool heat_high)
{
	char *pair[2] = { NULL, NULL };

	if (preloaded())
		find_neighbors(pair);
	else
		pair[1] = (pair[0] = calloc(2, COPY_ROOM)) + COPY_ROOM;
	if (!CHECK(pair[0] != NULL))
		return;
	CHECK(!heat_low || heat(pair[0], NEIGHBOR_BYTES) == preloaded());
	CHECK(!heat_high || heat(pair[1], NEIGHBOR_BYTES) == preloaded());
	CHECK_EQ(standin_pinned(pair[0]) != 0, heat_low && preloaded());
	CHECK_EQ(standin_pinned(pair[1]) != 0, heat_high && preloaded());
	host->at = pair[0];
	host->border = (size_t)(pair[1] - pair[0]);
	host->bytes = host->border + NEIGHBOR_BYTES;
}

struct copy_host copy_host_make(enum copy_memory kind, size_t bytes)
{
	struct copy_host host = { .kind = kind, .bytes = bytes, .border = bytes / 2 };

	switch (kind) {
	case COPY_HOT:
		host.at = promoted(bytes);
		break;
	case COPY_COLD:
		host.at = malloc(bytes);
		break;
	case COPY_STATIC:
		CHECK(bytes <= sizeof(array));
		host.at = array;
		break;
	case COPY_STACK:
		CHECK(bytes <= COPY_STACK_BYTES);
		host.at = copy_stack;
		break;
	case COPY_MAPPED:
		host.at = map(bytes, -1);
		break;
	case COPY_FILE:
		host.at = map_file(bytes);
		break;
	case COPY_REGISTERED:
		host.at = registered(bytes);
		break;
	case COPY_ALLOCATED:
		host.at = allocated(bytes);
		break;
	case COPY_LEAVING_FOR_OWN:
		make_neighbors(&host, true, false);
		if (!preloaded())
			CHECK_SKIP("natively the copy begins in no registration");
		OK(cuMemHostRegister_v2(host.at + host.border, MIB, 0));
		break;
	default:
		make_neighbors(&host, kind == COPY_LEAVING || kind == COPY_ACROSS,
			       kind == COPY_ENTERING || kind == COPY_ACROSS);
	}
	return host;
}

bool copy_host_is_hot(enum copy_memory kind)
{
	return kind == COPY_HOT || kind == COPY_LEAVING || kind == COPY_ENTERING ||
	       kind == COPY_ACROSS || kind == COPY_LEAVING_FOR_OWN;
}

bool copy_host_is_own(enum copy_memory kind)
{
	return kind == COPY_REGISTERED || kind == COPY_ALLOCATED;
}

/* Copies as many bytes as are needed to pin the whole block. */
static void heat_again(char *block, size_t bytes)
{
	if (!standin_pinned(block))
		CHECK_EQ(heat(block, bytes), preloaded());
	OK(cuCtxSynchronize());
}

void copy_host_heat(const struct copy_host *host)
{
	if (host->kind == COPY_HOT)
		heat_again(host->at, host->bytes);
	if (host->kind == COPY_LEAVING || host->kind == COPY_ACROSS)
		heat_again(host->at, NEIGHBOR_BYTES);
	if (host->kind == COPY_ENTERING || host->kind == COPY_ACROSS)
		heat_again(host->at + host->border, NEIGHBOR_BYTES);
}
