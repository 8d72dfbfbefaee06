/*
 * test_move.c - moves memory in both ways, and raises no signal for memory that cannot be moved.
 */
#include "stage/move.h"
#include "base/parse.h"
#include "base/procfile.h"

#include "check.h"
#include "sizes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>

static bool move_in(void *staging, const struct shape *shape, void *host, size_t at, size_t bytes,
		    enum move_check check)
{
	return move_bytes(true, staging, shape, host, at, bytes, check);
}

static bool move_out(void *host, const struct shape *shape, void *staging, size_t at, size_t bytes,
		     enum move_check check)
{
	return move_bytes(false, staging, shape, host, at, bytes, check);
}

/* Imitates a kernel without MADV_POPULATE_READ from here on, or skips the test. */
static void be_old(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 22, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
	};
	struct sock_fprog program = { HP_LEN(filter), filter };

	char from = 1, to = 0;
	struct iovec here = { &to, 1 }, there = { &from, 1 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0 ||
	    process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1)
		CHECK_SKIP("filters, or process_vm_readv, are not permitted");
}

static char *map(size_t bytes)
{
	return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Moves random shapes in both directions; memory in the gaps must stay unchanged. */
static void random_shapes(void)
{
	static char host[512 * KIB], back[512 * KIB], ring[256 * KIB];
	unsigned seed = 5;

	for (size_t i = 0; i < sizeof(host); i++)
		host[i] = (char)(rand_r(&seed) >> 8);
	for (int turn = 0; turn < 300 && check_failures == 0; turn++) {
		struct shape shape = { .width = 1 + (size_t)rand_r(&seed) % 9000,
				       .rows = 1 + (size_t)rand_r(&seed) % 6,
				       .slices = 1 + (size_t)rand_r(&seed) % 3 };

		shape.pitch = shape.width + (size_t)rand_r(&seed) % 2 * (rand_r(&seed) % 9000);
		shape.slice = shape.pitch * (shape.rows + rand_r(&seed) % 3);
		size_t bytes = shape_bytes(&shape), extent = shape_extent(&shape);
		size_t at = (size_t)rand_r(&seed) % bytes;
		size_t some = 1 + (size_t)rand_r(&seed) % (bytes - at), run;
		size_t skip = (size_t)rand_r(&seed) % 100;

		if (extent + skip > sizeof(host))
			continue;
		CHECK(move_in(ring, &shape, host + skip, at, some, (enum move_check)(turn % 3)));
		for (size_t i = 0; i < some && check_failures == 0; i++)
			CHECK_EQ(ring[i], host[skip + shape_offset(&shape, at + i, &run)]);
		memset(back, 0x5a, sizeof(back));
		CHECK(move_out(back + skip, &shape, ring, at, some, (enum move_check)(turn % 3)));
		for (size_t i = 0; i < some && check_failures == 0; i++) {
			size_t place = skip + shape_offset(&shape, at + i, &run);

			CHECK_EQ(back[place], host[place]);
			back[place] = 0x5a;
		}
		for (size_t i = 0; i < sizeof(back) && check_failures == 0; i++)
			CHECK_EQ(back[i], 0x5a);
	}
}

static void leave(int number)
{
	_exit(number);
}

/* Memory that a program's thread moves must fault as usual. */
static void check_signal(char *at)
{
	static char ring[PAGE];
	struct shape run = shape_of_run(PAGE);

	if (CHECK_CHILD(SIGSEGV)) {
		signal(SIGSEGV, leave);
		move_in(ring, &run, at, 0, PAGE, MOVE_UNCHECKED);
		_exit(0);
	}
}

static void check_refused(char *at, size_t bytes, bool can_read)
{
	static char ring[64 * PAGE];
	struct shape run = shape_of_run(bytes);

	CHECK_EQ(move_in(ring, &run, at, 0, bytes, MOVE_CHECK_ACCESS), can_read);
	CHECK(!move_out(at, &run, ring, 0, bytes, MOVE_CHECK_ACCESS));
}

/* Tests every kind of memory that would raise a signal. */
static void holes(void)
{
	char *memory = map(64 * PAGE), *path = check_path("file");
	int file = open(path, O_CREAT | O_RDWR, 0600);

	memset(memory, 1, 64 * PAGE);
	mprotect(memory + 32 * PAGE, PAGE, PROT_NONE);
	check_refused(memory, 64 * PAGE, false);
	check_refused(memory + 100, 32 * PAGE - 99, false);
	check_signal(memory + 32 * PAGE);
	munmap(memory + 32 * PAGE, PAGE);
	check_refused(memory, 64 * PAGE, false);
	struct shape before = shape_of_run(32 * PAGE);
	static char ring[64 * PAGE];
	CHECK(move_in(ring, &before, memory, 0, 32 * PAGE, MOVE_CHECK_ACCESS));
	CHECK(move_out(memory, &before, ring, 0, 32 * PAGE, MOVE_CHECK_ACCESS));
	mprotect(memory + 16 * PAGE, PAGE, PROT_READ);
	check_refused(memory, 32 * PAGE, true);
	check_refused(NULL, PAGE, false);
	check_refused((char *)-PAGE, PAGE / 2, false);

	unlink(path);
	CHECK_EQ(ftruncate(file, (off_t)(4 * PAGE)), 0);
	char *mapped = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	check_refused(mapped, 64 * PAGE, false);
	mapped = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	check_refused(mapped, 64 * PAGE, false);
	struct shape inside = shape_of_run(4 * PAGE);
	CHECK(move_in(ring, &inside, mapped, 0, 4 * PAGE, MOVE_CHECK_ACCESS));
	close(file);
}

/* A gap may be a hole if it is not accessed, as the program does not access it. */
static void hole_in_a_gap(void)
{
	static char ring[64 * PAGE];
	char *memory = map(128 * PAGE);
	struct shape shape = { .width = 2 * PAGE, .rows = 8, .slices = 1 };

	shape.pitch = 16 * PAGE;
	shape.slice = 128 * PAGE;
	for (int i = 0; i < 8; i++)
		mprotect(memory + (size_t)(16 * i + 3) * PAGE, PAGE, PROT_NONE);
	memset(ring, 7, sizeof(ring));
	CHECK(move_out(memory, &shape, ring, 0, 16 * PAGE, MOVE_CHECK_ACCESS));
	CHECK(move_in(ring, &shape, memory, 0, 16 * PAGE, MOVE_CHECK_ACCESS));
	CHECK_EQ(memory[2 * PAGE - 1], 7);
	CHECK_EQ(memory[2 * PAGE], 0);
	/* Memory there does not become resident. */
	unsigned char there[16];
	CHECK_EQ(mincore(memory + 16 * PAGE, 16 * PAGE, there), 0);
	CHECK((there[1] & 1) == 1 && (there[2] & 1) == 0 && (there[9] & 1) == 0);
}

/* True if the kernel answers queries about mappings, as from 6.11 on. */
static bool says(void)
{
	struct utsname about;
	int major = 0, minor = 0;

	CHECK(uname(&about) == 0 && sscanf(about.release, "%d.%d", &major, &minor) == 2);
	return major > 6 || (major == 6 && minor >= 11);
}

/* Private, readable and writable memory. */
static void plain(void)
{
	static char zeros[64 * PAGE];
	char on_stack[PAGE], *memory = map(256 * PAGE), *path = check_path("file");
	int file = open(path, O_CREAT | O_RDWR, 0600);

	CHECK(!move_is_plain(memory, 256 * PAGE));
	hp_procfile_keep(true);
	move_keep();
	hp_procfile_keep(false);
	CHECK_EQ(move_is_plain(memory, 256 * PAGE), says());
	CHECK_EQ(move_is_plain(zeros, sizeof(zeros)), says());
	CHECK_EQ(move_is_plain(on_stack, sizeof(on_stack)), says());
	/* Several mappings, each of them fine; then too many to query. */
	madvise(memory + 16 * PAGE, PAGE, MADV_DONTDUMP);
	CHECK_EQ(move_is_plain(memory + 1, 256 * PAGE - 2), says());
	for (size_t i = 17; i < 100; i += 2)
		madvise(memory + i * PAGE, PAGE, MADV_DONTFORK);
	CHECK(!move_is_plain(memory, 256 * PAGE));

	mprotect(memory + 200 * PAGE, PAGE, PROT_READ);
	CHECK_EQ(move_is_plain(memory + 150 * PAGE, 50 * PAGE), says());
	CHECK(!move_is_plain(memory + 150 * PAGE, 50 * PAGE + 1));
	munmap(memory + 200 * PAGE, PAGE);
	CHECK(!move_is_plain(memory + 150 * PAGE, 50 * PAGE + 1));

	unlink(path);
	CHECK_EQ(ftruncate(file, (off_t)(4 * PAGE)), 0);
	for (int shared = 0; shared < 2; shared++) {
		void *mapped = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
				    shared ? MAP_SHARED : MAP_PRIVATE, file, 0);
		CHECK(!move_is_plain(mapped, 4 * PAGE));
	}
	CHECK(!move_is_plain(
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), PAGE));
	close(file);
}

/* Missing pages of plain memory are also detected before a signal would report them. */
static void glances(void)
{
	static char ring[64 * PAGE];
	struct shape run = shape_of_run(64 * PAGE);
	char *memory = map(64 * PAGE);

	memset(ring, 9, sizeof(ring));
	CHECK(move_out(memory, &run, ring, 0, 64 * PAGE, MOVE_CHECK_PRESENT));
	CHECK(memory[0] == 9 && memory[64 * PAGE - 1] == 9);
	/* MADV_GUARD_INSTALL of Linux 6.13: the mapping remains one. */
	if (madvise(memory + 32 * PAGE, PAGE, 102) == 0) {
		CHECK(!move_out(memory, &run, ring, 0, 64 * PAGE, MOVE_CHECK_PRESENT));
		CHECK(!move_in(ring, &run, memory, 0, 64 * PAGE, MOVE_CHECK_PRESENT));
	}
	munmap(memory + 32 * PAGE, PAGE);
	CHECK(!move_out(memory, &run, ring, 0, 64 * PAGE, MOVE_CHECK_PRESENT));
}

CASE(shapes, random_shapes())
CASE(shapes_of_old, be_old(); random_shapes())
CASE(refused, holes(); hole_in_a_gap())
CASE(plain_memory, plain(); glances())

TEST(refused_of_old)
{
	be_old();
	holes();
	hole_in_a_gap();
}

CHECK_MAIN()
