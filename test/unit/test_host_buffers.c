/*
 * test_host_buffers.c - which C or C++ code allocated a copied buffer, and whether pinning the
 * buffer paid off.
 */
#include "check.h"
#include "base/lock.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/round_trips.h"
#include "trace/places/sites.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static int here; /* static memory */

static struct trace_copy copy_of(uint32_t allocator, enum trace_memory memory, uint64_t bytes)
{
	return (struct trace_copy){ .direction = TRACE_H2D,
				    .memory = memory,
				    .bytes = bytes,
				    .enter_ns = 1000,
				    .leave_ns = 1500,
				    .host = &bytes,
				    .allocator = allocator,
				    .block_bytes = 4096,
				    .gain_ns = 70 };
}

/* Replaces libc's, which modules.c calls for the program's file, as in a chroot without /proc. */
ssize_t readlink(const char *path, char *buffer, size_t room)
{
	(void)path, (void)buffer, (void)room;
	errno = ENOENT;
	return -1;
}

__attribute__((noinline)) static uintptr_t own_return_address(void)
{
	return (uintptr_t)__builtin_return_address(0);
}

TEST(caller_of_malloc)
{
	uintptr_t own = own_return_address();
	_Alignas(512) uintptr_t stack[64] = { [3] = own, [4] = 1, [5] = own };
	struct frames_place way;

	callers_note(7, (void *)own, stack);
	CHECK(!callers_find(7, &way));
	CHECK_EQ(way.depth, 1);
	CHECK(way.frame[0].module != MODULES_NOWHERE);
	CHECK(way.frame[0].offset != 0 && way.frame[0].offset < 1 << 24);
	/* An unknown block has no way, and does not get the first one's. */
	callers_find(9, &way);
	CHECK_EQ(way.depth, 0);
	callers_note(7, &here, stack);
	callers_find(7, &way);
	CHECK(way.frame[0].offset < 1 << 24 && way.depth == 1);
	/* A caller that is in no slot nearby, and one that is in no file. */
	uintptr_t empty[64] = { 0 };
	callers_note(11, (void *)0x1234560, empty);
	callers_find(11, &way);
	CHECK_EQ(way.depth, 1);
	CHECK(way.frame[0].module == MODULES_NOWHERE && way.frame[0].offset == 0x1234560);
}

/*
 * operator new is the caller.  The next word that looks like a return address is taken, as a guess.
 */
TEST(caller_of_operator_new)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW);
	uintptr_t in_new = library != NULL ? (uintptr_t)dlsym(library, "_Znwm") + 20 : 0;
	uintptr_t own = own_return_address();
	/*
	 * These are not taken: data, small numbers, libstdc++ itself, code of ours without a call
	 * before it.
	 */
	_Alignas(512)
		uintptr_t stack[64] = { 0,   in_new, (uintptr_t)&here, 17, in_new + 4, own + 1,
					own, own };
	struct frames_place way;

	if (library == NULL)
		CHECK_SKIP("no libstdc++ here");
	callers_note(7, (void *)in_new, stack);
	CHECK(callers_find(7, &way));
	CHECK_EQ(way.depth, 2);
	struct module_place place = modules_find(own);
	CHECK_EQ(way.frame[1].module, place.module);
	CHECK_EQ(way.frame[1].offset, place.offset);
	CHECK(way.frame[0].module != place.module);
}

static uint32_t copied(const struct trace_copy *copy)
{
	hp_lock(HP_LOCK_trace);
	uint32_t index = host_buffers_add(copy, SITES_NOWHERE);
	hp_unlock(HP_LOCK_trace);
	return index != HOST_BUFFERS_UNSEEN ? index : host_buffers_copied(copy, SITES_NOWHERE);
}

TEST(static_and_other_memory)
{
	struct trace_copy copy = copy_of(0, TRACE_UNKNOWN, 10);
	struct host_buffer buffer;

	CHECK_EQ(host_buffers_start(), 0);
	CHECK_EQ(copied(&copy), 0);
	/* Known as soon as this file is known by calls in it. */
	errno = 55;
	modules_note((uintptr_t)&here);
	CHECK_EQ(errno, 55);
	copy.host = &here;
	uint32_t index = copied(&copy);
	CHECK(index != 0);
	CHECK_EQ(copied(&copy), index);
	host_buffers_read(index, &buffer);
	CHECK(strcmp(buffer.sums.kind, "static") == 0 && buffer.place.depth == 1);
	CHECK_EQ(buffer.place.frame[0].offset, modules_find((uintptr_t)&here).offset);
	CHECK_EQ(buffer.sums.h2d.count, 2);
	host_buffers_read(0, &buffer);
	CHECK(strcmp(buffer.sums.kind, "other") == 0 && buffer.sums.h2d.count == 1);
}

TEST(more_than_there_is_room_for)
{
	struct host_buffer buffer;
	uint64_t all = 0;

	CHECK_EQ(host_buffers_start(), 0);
	for (uint32_t site = 1; site <= 3 * HOST_BUFFERS_MOST; site++) {
		struct trace_copy copy = copy_of(site, TRACE_PAGEABLE, 1);

		copied(&copy);
		copied(&copy);
		host_buffers_pinned(site, true, 1);
	}
	size_t count = 0;
	for (; host_buffers_read(count, &buffer); count++)
		all += buffer.sums.h2d.bytes;
	CHECK_EQ(count, HOST_BUFFERS_MOST);
	CHECK_EQ(all, 6 * HOST_BUFFERS_MOST);
}

static enum round_trip crossed(enum trace_direction direction, uint32_t i, uint64_t at_ns,
			       struct profile_trips *ret_trip)
{
	static char memory[4000][64];
	struct trace_copy copy = { .direction = direction,
				   .bytes = 64,
				   .enter_ns = at_ns,
				   .leave_ns = at_ns,
				   .host = memory[i] };

	return hp_locked(HP_LOCK_trace, round_trips_copied(&copy, i, SITES_NOWHERE, ret_trip));
}

/* Some places whose data comes up again are forgotten, but none is invented. */
TEST(more_round_trips_than_there_is_room_for)
{
	struct profile_trips trip;
	uint32_t found = 0;

	for (uint32_t i = 0; i < 4000; i++)
		crossed(TRACE_D2H, i, i, &trip);
	for (uint32_t i = 0; i < 4000; i++) {
		if (crossed(TRACE_H2D, i, 5000, &trip) != ROUND_TRIP_SAME)
			continue;
		CHECK_EQ(trip.after, i);
		found++;
	}
	CHECK(found > 300 && found < 1025);
}

static const char *name_at(const void *address)
{
	const struct mapped_file *file = hp_locked(HP_LOCK_trace, mapped_files_at(address));

	return file != NULL ? file->name : "";
}

/* Returns a descriptor of a new file of the test's folder. */
static int new_file(const char *name)
{
	int fd = open(check_path(name), O_RDWR | O_CREAT, 0600);

	CHECK(fd >= 0);
	return fd;
}

TEST(mapped_files)
{
	static const char memory[2][4096];
	struct trace_copy copy = copy_of(0, TRACE_PAGEABLE, 10);
	struct host_buffer buffer;
	int first = new_file("first"), second = new_file("second");

	CHECK_EQ(host_buffers_start(), 0);
	errno = 55;
	mapped_files_note(memory[0], 4096, first);
	mapped_files_note(memory[1], 1, second);
	mapped_files_note(&first, sizeof(first), -1);
	CHECK_EQ(errno, 55);
	CHECK(strcmp(name_at(&memory[0][4095]), "first") == 0);
	CHECK(strcmp(name_at(memory[1]), "second") == 0 && strcmp(name_at(&first), "") == 0);
	copy.host = memory[0];
	uint32_t index = copied(&copy);
	CHECK_EQ(copied(&copy), index);
	CHECK(host_buffers_read(index, &buffer) && strcmp(buffer.sums.kind, "file") == 0 &&
	      strcmp(buffer.file, "first") == 0 && buffer.sums.h2d.count == 2);
	/* The same file elsewhere is the same buffer, and what was there no longer. */
	mapped_files_note(memory[1], 4096, first);
	copy.host = memory[1];
	CHECK_EQ(copied(&copy), index);
	mapped_files_forget(&memory[0][4000], 200);
	CHECK(strcmp(name_at(memory[0]), "") == 0 && strcmp(name_at(memory[1]), "") == 0);
	CHECK_EQ(copied(&copy), 0);
}

TEST(mapped_files_without_a_name)
{
	static const char memory[MAPPED_FILES_MOST + 1][8];
	char name[] = "a name that is longer than there is room for in the profile of a run";
	int file = new_file(name), null = open("/dev/null", O_RDONLY);

	mapped_files_note(memory, 8, null);
	CHECK(strcmp(name_at(memory), "") == 0);
	mapped_files_note(memory, 8, file);
	name[MAPPED_FILES_NAME - 1] = '\0';
	CHECK(strcmp(name_at(memory), name) == 0);
	/* A signal handler that interrupts a thread with a lock. */
	hp_lock(HP_LOCK_trace);
	mapped_files_note(memory[1], 8, file);
	mapped_files_forget(memory, 8);
	hp_unlock(HP_LOCK_trace);
	CHECK(strcmp(name_at(memory[1]), "") == 0 && strcmp(name_at(memory), name) == 0);
	for (int i = 0; i <= MAPPED_FILES_MOST; i++)
		mapped_files_note(memory[i], 8, file);
	CHECK(strcmp(name_at(memory[MAPPED_FILES_MOST - 1]), name) == 0);
	CHECK(strcmp(name_at(memory[MAPPED_FILES_MOST]), "") == 0);
	mapped_files_forget(memory, sizeof(memory));
	unlink(check_path("a name that is longer than there is room for in the profile of a run"));
	mapped_files_note(memory, 8, file);
	CHECK(strcmp(name_at(memory), "") == 0);
}

CHECK_MAIN()
