/*
 * hazards_io.c - rows 25 to 27: the kernel and other processes access the pages of a pinned block.
 */
#include "hazards.h"

#include <linux/io_uring.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* In an image of the process the block is ordinary memory: private, readable and writable. */
TEST_AFTER(row25_a_block_in_the_map, begin())
{
	char line[512], access[8] = "";
	unsigned long begin_at, end_at;

	char *block = hot(BYTES);
	FILE *map = fopen("/proc/self/maps", "r");

	while (map != NULL && fgets(line, sizeof(line), map) != NULL)
		if (sscanf(line, "%lx-%lx %7s", &begin_at, &end_at, access) == 3 &&
		    (uintptr_t)block >= begin_at && (uintptr_t)block < end_at)
			break;
	if (map != NULL)
		fclose(map);
	CHECK(strcmp(access, "rw-p") == 0);
	free(block);
}

#if CUDA_VERSION >= 12080
/* The process is suspended and resumed with pinned blocks, by driver 570 and later. */
ALONE(row25_checkpoint)
{
	int down[2], up[2];
	char word;

	find_driver();
	__typeof__(cuCheckpointProcessLock) *lock = (__typeof__(lock))dlsym(
		dlopen("libcuda.so.1", RTLD_NOW), "cuCheckpointProcessLock");
	if (lock == NULL || stand_in("standin_calls") != NULL)
		SKIP("the driver cannot suspend a process");
	CHECK(pipe(down) == 0 && pipe(up) == 0);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		begin();
		char *block = hot(BYTES);

		OK(cu.cuMemcpyHtoD_v2(there, block, BYTES));
		CHECK(write(up[1], "r", 1) == 1 && read(down[0], &word, 1) == 1);
		CHECK(device_holds(there, BYTES, 1));
		agrees(block, BYTES);
		CHECK_EQ(heat(block, BYTES), preloaded());
		agrees(block, BYTES);
		fflush(stdout);
		_exit(check_failures == 0 ? 7 : 1);
	}
	close(up[1]);
	CHECK(read(up[0], &word, 1) == 1);
	begin();
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUcheckpointLockArgs patience = { .timeoutMs = 5000 };
	CUresult locked = lock(child, &patience);
	SEE("lock", locked);
	if (locked == CUDA_SUCCESS) {
		CUresult taken = FIND(library, cuCheckpointProcessCheckpoint)(child, NULL);

		SEE("checkpoint", taken);
		if (taken == CUDA_SUCCESS)
			SEE("restore", FIND(library, cuCheckpointProcessRestore)(child, NULL));
		SEE("unlock", FIND(library, cuCheckpointProcessUnlock)(child, NULL));
	}
	CHECK(write(down[1], "g", 1) == 1);
	SEE("end", check_status(child));
}
#endif

/* Another process reads and writes the block; the device sees its writes. */
TEST_AFTER(row26_another_process, begin())
{
	char *block = hot(BYTES);
	pid_t parent = getpid();

	fill(block, BYTES, 4);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	pid_t child = fork();
	if (child == 0) {
		char *mine = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);
		struct iovec here = { mine, BYTES }, other = { block, BYTES };

		if (process_vm_readv(parent, &here, 1, &other, 1, 0) != (ssize_t)BYTES)
			_exit(77);
		bool right = holds(mine, BYTES, 4);
		fill(mine, BYTES, 5);
		if (process_vm_writev(parent, &here, 1, &other, 1, 0) != (ssize_t)BYTES)
			_exit(77);
		_exit(right ? 7 : 1);
	}
	int status = check_status(child);
	SEE("the other process", status);
	if (status == 7) {
		OK(cu.cuMemcpyHtoD_v2(there, block, BYTES));
		CHECK(device_holds(there, BYTES, 5));
	}
	agrees(block, BYTES);
	free(block);
	if (status == 77)
		SKIP("it may not");
}

/* A tracer writes one word. */
TEST_AFTER(row26_a_tracer, begin())
{
	char *block = hot(BYTES);
	pid_t parent = getpid();

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	pid_t child = fork();
	if (child == 0) {
		long word = 0x1122334455667788;
		int status;

		if (ptrace(PTRACE_ATTACH, parent, NULL, NULL) != 0)
			_exit(77);
		waitpid(parent, &status, __WALL);
		long failed = ptrace(PTRACE_POKEDATA, parent, block + 64, word);
		ptrace(PTRACE_DETACH, parent, NULL, NULL);
		_exit(failed ? 1 : 7);
	}
	int status = check_status(child);
	SEE("tracer", status);
	if (status == 7) {
		long seen = 0;

		OK(cu.cuMemcpyHtoD_v2(there, block, BYTES));
		OK(cu.cuMemcpyDtoH_v2(&seen, there + 64, sizeof(seen)));
		CHECK_EQ(seen, 0x1122334455667788);
	}
	agrees(block, BYTES);
	free(block);
	if (status == 77)
		SKIP("there may be none");
}

/* Written with direct I/O by one path and read by another. */
TEST(row27_direct_io)
{
	char path[] = "/var/tmp/hazard.XXXXXX";
	int plain = mkstemp(path), file = open(path, O_RDWR | O_DIRECT);

	unlink(path);
	if (plain < 0 || file < 0)
		SKIP("no direct I/O on /var/tmp");
	begin();
	char *block = hot(BYTES), *at = inner(block);

	fill(at, INSIDE, 6);
	CHECK_EQ(pwrite(file, at, INSIDE, 0), INSIDE);
	memset(at, 0, INSIDE);
	OK(cu.cuMemcpyHtoD_v2(there, at, INSIDE));
	CHECK_EQ(pread(file, at, INSIDE, 0), INSIDE);
	CHECK(holds(at, INSIDE, 6));
	OK(cu.cuMemcpyHtoD_v2(there, at, INSIDE));
	CHECK(device_holds(there, INSIDE, 6));
	CHECK_EQ(is_pinned(at), preloaded());
	agrees(block, BYTES);
	close(plain);
	close(file);
	free(block);
}

TEST_AFTER(row27_vmsplice, begin())
{
	int ends[2];

	char *block = hot(BYTES), *at = inner(block), copy[16 * KIB];
	struct iovec range = { at, sizeof(copy) };

	fill(at, sizeof(copy), 7);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(vmsplice(ends[1], &range, 1, 0), (ssize_t)sizeof(copy));
	/* The reader of the pipe finds what the device writes: the pages are the same. */
	fill(copy, sizeof(copy), 8);
	OK(cu.cuMemcpyHtoD_v2(there, copy, sizeof(copy)));
	OK(cu.cuMemcpyDtoH_v2(at, there, sizeof(copy)));
	CHECK_EQ(read(ends[0], copy, sizeof(copy)), (ssize_t)sizeof(copy));
	CHECK(holds(copy, sizeof(copy), 8));
	close(ends[0]);
	close(ends[1]);
	agrees(block, BYTES);
	free(block);
}

/*
 * Registered with io_uring, so the pages are pinned twice; unregistered before the block is freed.
 */
TEST(row27_io_uring)
{
	struct io_uring_params params = { .flags = 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &params);

	if (ring < 0)
		SKIP("no io_uring");
	begin();
	char *block = hot(BYTES);
	struct iovec range = { inner(block), INSIDE };
	long result = syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &range, 1);

	SEE("register", result);
	agrees(block, BYTES);
	if (result == 0)
		CHECK_EQ(syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0),
			 0);
	close(ring);
	agrees(block, BYTES);
	free(block);
}
