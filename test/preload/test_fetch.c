/*
 * test_fetch.c - copies from the device that come back early: who waits for them, and which do.
 */
#include "fetch.h"
#include "base/bare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/xattr.h>

static char *block;
static unsigned seed = 10;

TEST_WITH(touched, FETCHING)
{
	block = learned();
	for (int i = 0; i < 4; i++) {
		fetch(block, ++seed);
		pause_ms(1);
		CHECK(holds(block, BLOCK, seed));
	}
	CHECK_EQ(standin_calls("cuStreamWriteValue32") >= 4, preloaded());
}

/* Where devices cannot write a word in the order of a stream: events alone say what is over. */
#define NO(n) "cuStreamWriteValue32:" n ":801"
TEST_WITH(touched_without_tickets, FETCHING, "HOTPIN_EARLY=off",
	  "STANDIN_FAIL=" NO("1") "," NO("2") "," NO("3") "," NO("4") "," NO("5") "," NO("6"))
{
	block = learned();
	for (int i = 0; i < 4; i++) {
		fetch(block, ++seed);
		CHECK(holds(block, BLOCK, seed));
	}
	fetch(block, ++seed);
	standin_step_all();
	pause_ms(20);
	CHECK(holds(block, BLOCK, seed));
	CHECK(standin_calls("cuStreamWriteValue32") <= 6);
}

/* What is over is opened by itself. */
TEST_WITH(untouched, FETCHING)
{
	block = learned();
	fetch(block, ++seed);
	standin_step_all();
	pause_ms(20);
	CHECK(syscall(SYS_write, memfd_create("file", 0), block, BLOCK) == (long)BLOCK);
	CHECK(holds(block, BLOCK, seed));
}

TEST_WITH(written, FETCHING)
{
	block = learned();
	fetch(block, ++seed);
	block[BLOCK / 2] = 1;
	CHECK(holds(block, BLOCK / 2, seed) && block[BLOCK / 2] == 1);
}

/* Neither libc nor we see it come. */
static pid_t fork_past_all(void)
{
	return (pid_t)hp_bare4(SYS_clone, SIGCHLD, 0, 0, 0);
}

static bool is_open(void)
{
	/* Asked past libc: whoever touched it would open it. */
	unsigned long part = 0;
	struct {
		void *at;
		size_t bytes;
	} here = { &part, sizeof(part) }, far = { block + BLOCK / 2, sizeof(part) };

	long got = hp_bare6(SYS_process_vm_readv, getpid(), (long)&here, 1, (long)&far, 1, 0);
	return got == sizeof(part);
}

/* Memory that goes, or changes, while bytes are on their way to it. */

TEST_WITH(freed, FETCHING)
{
	block = learned();
	fetch(block, ++seed);
	free(block);
	CHECK(is_open() || !preloaded()); /* libc gives it back */
	/* The same pages for somebody else. */
	char *next = malloc(BLOCK);
	fill(next, BLOCK, 1);
	OK(cuCtxSynchronize());
	CHECK(holds(next, BLOCK, 1));
}

TEST_WITH(grown, FETCHING)
{
	block = learned();
	fetch(block, ++seed);
	block = realloc(block, 3 * BLOCK);
	CHECK(holds(block, BLOCK, seed));
	fill(block, 3 * BLOCK, 1);
	OK(cuCtxSynchronize());
	CHECK(holds(block, 3 * BLOCK, 1));
}

TEST_WITH(changed, FETCHING)
{
	uintptr_t page;

	block = learned();
	page = ((uintptr_t)block + BLOCK / 2) & -(uintptr_t)4096;
	fetch(block, ++seed);
	CHECK_EQ(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE), 0);
	CHECK(holds(block, BLOCK, seed));
	fetch(block, ++seed);
	CHECK_EQ(madvise((void *)page, 4096, MADV_WILLNEED), 0);
	CHECK(holds(block, BLOCK, seed));
	fetch(block, ++seed);
	CHECK_EQ(syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE), 0);
	CHECK(holds(block, BLOCK, seed));
	/* From here on it is pinned no more. */
	fetch(block, ++seed);
	CHECK_EQ(madvise((void *)page, 4096, MADV_DONTNEED), 0);
	OK(cuCtxSynchronize());
	CHECK_EQ(*(char *)page, 0);
}

/* What the program has made of a page is not undone when its bytes come. */
TEST_WITH(changed_for_good, FETCHING)
{
	int zeros = open("/dev/zero", O_RDONLY);

	block = learned();
	char *page = (char *)(((uintptr_t)block + BLOCK / 2) & -(uintptr_t)4096);
	fetch(block, ++seed);
	CHECK_EQ(mprotect(page, 4096, PROT_READ), 0);
	OK(cuCtxSynchronize());
	CHECK(holds(block, BLOCK, seed));
	CHECK_EQ(read(zeros, page, 1), -1);
	CHECK_EQ(errno, EFAULT);
	CHECK(holds(block, BLOCK, seed));
}

TEST_WITH(locked, FETCHING)
{
	block = learned();
	fetch(block, ++seed);
	CHECK_EQ(mlock(block, 4096), 0);
	CHECK(holds(block, BLOCK, seed));
}

/* Calls of the driver that name it, or wait for what runs. */

/* After `call` the data is there, whoever asks. */
#define JOINS(call)                                \
	do {                                       \
		fetch(block, ++seed);              \
		CHECK_EQ(is_open(), !preloaded()); \
		call;                              \
		CHECK(is_open());                  \
		CHECK(holds(block, BLOCK, seed));  \
	} while (0)

TEST_WITH(waits, FETCHING)
{
	CUstream stream;
	CUevent event;

	block = learned();
	OK(cuEventCreate(&event, 0));
	OK(cuEventRecord(event, NULL));
	OK(cuStreamCreate(&stream, 0));
	JOINS(OK(cuCtxSynchronize()));
	JOINS(OK(cuStreamSynchronize(NULL)));
	JOINS(OK(cuStreamSynchronize(stream)));
	JOINS(OK(cuEventSynchronize(event)));
	JOINS(OK(cuStreamQuery(NULL)));
	JOINS(OK(cuEventQuery(event)));
	CUdeviceptr more;
	JOINS(OK(cuMemAlloc_v2(&more, 4096)));
	JOINS(OK(cuMemFree_v2(more)));
	CUgraph graph;
	CUgraphExec exec;
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	JOINS(OK(cuGraphLaunch(exec, stream)));
	JOINS(OK(cuStreamDestroy_v2(stream)));
	JOINS(OK(cuEventDestroy_v2(event)));
	CUmodule module;
	JOINS(OK(cuModuleLoadData(&module, "module")));
	JOINS(OK(cuModuleUnload(module)));
	JOINS(OK(cuMemHostRegister_v2(block, BLOCK, 0)));
}

TEST_WITH(named, FETCHING)
{
	static char plain[BLOCK];

	block = learned();
	/* As a source, */
	JOINS(OK(cuMemcpyHtoD_v2(there + BLOCK, block, BLOCK)));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
	JOINS(OK(cuMemcpyHtoDAsync_v2(there + BLOCK, block, BLOCK, NULL)));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
	JOINS(OK(cuMemcpy(there + BLOCK, (CUdeviceptr)block, BLOCK)));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
	/* as one side of a copy between two, */
	JOINS(OK(cuMemcpy((CUdeviceptr)plain, (CUdeviceptr)block, BLOCK)));
	CHECK(holds(plain, BLOCK, seed));
	unsigned plain_seed = seed;
	/* in rows, */
	CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = block,
			       .srcPitch = 4096,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = there + BLOCK,
			       .dstPitch = 4096,
			       .WidthInBytes = 4096,
			       .Height = BLOCK / 4096 };
	JOINS(OK(cuMemcpy2D_v2(&rows)));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
#if CUDA_VERSION >= 13000
	/* in a batch, */
	CUstream stream;
	CUdeviceptr to = there + BLOCK, from = (CUdeviceptr)block;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	size_t bytes = BLOCK, first = 0;
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	JOINS(OK(cuMemcpyBatchAsync_v2(&to, &from, &bytes, 1, &how, &first, 1, stream)));
	OK(cuStreamSynchronize(stream));
	CHECK(device_holds(there + BLOCK, BLOCK, seed));
#endif
	/* and as a destination once more. */
	fetch(block, ++seed);
	OK(cuMemcpyHtoD_v2(there + BLOCK, plain, BLOCK));
	OK(cuMemcpyDtoH_v2(block, there + BLOCK, BLOCK / 2));
	CHECK(holds_from(block, 0, BLOCK / 2, plain_seed));
	CHECK(holds_from(block + BLOCK / 2, BLOCK / 2, BLOCK / 2, seed));
}

/* The driver touches it with its locks held: a copy that names it waits before it begins. */
TEST_WITH(named_and_not_touched, FETCHING, "HOTPIN_LOG=debug",
	  "HOTPIN_LOG_FILE=/tmp/hotpin-named-%p.log")
{
	char path[64], line[256];
	int joined = 0, faulted = 0, status = -1;

	snprintf(path, sizeof(path), "/tmp/hotpin-named-%d.log", getpid());
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		block = learned();
		fetch(block, ++seed);
		OK(cuMemcpyHtoD_v2(there + BLOCK, block, 4 * KIB));
		exit(check_failures == 0 ? 42 : 1);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	if (!preloaded())
		return;
	/* What it did, by its counters. */
	FILE *log = fopen(path, "r");
	while (CHECK(log != NULL) && fgets(line, sizeof(line), log) != NULL) {
		joined += strstr(line, "times that a call did") != NULL;
		faulted += strstr(line, "times that a touch of such a copy's data") != NULL;
	}
	CHECK(joined > 0);
	CHECK_EQ(faulted, 0);
	unlink(path);
}

/* Nor is known what it touches. */
TEST_WITH(unknown, FETCHING, "STANDIN_EXTRA=1")
{
	void *found = NULL;
	char part[64];

	block = learned();
	OK(cuGetProcAddress_v2("cuHotpinUnknownThing", &found, 13000, 0, NULL));
	fetch(block, ++seed);
	CHECK_EQ(is_open(), !preloaded());
	OK(((__typeof__(&cuHotpinUnknownThing))found)(there, part, sizeof(part)));
	CHECK(is_open());
	CHECK(holds(block, BLOCK, seed));
}

/* Work that does not come behind the copy by itself must not change its source. */
TEST_WITH(other_streams, FETCHING)
{
	CUstream stream;

	block = learned();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 3; i++) {
		fetch(block, ++seed);
		OK(cuMemsetD8Async(there, 0, BLOCK, stream));
		standin_step(stream, 1);
		CHECK(holds(block, BLOCK, seed));
	}
	/* The legacy stream's own order is enough where it is one. */
	fetch(block, ++seed);
	OK(cuMemsetD8_v2(there, 0, BLOCK));
	CHECK(holds(block, BLOCK, seed));
}

static CUfunction function_of(const char *name)
{
	CUmodule module;
	CUfunction function = NULL;

	OK(cuModuleLoadData(&module, "module"));
	OK(cuModuleGetFunction(&function, module, name));
	return function;
}

/* Work that does: nobody waits. */
TEST_WITH(in_order, FETCHING)
{
	block = learned();
	CUfunction noop = function_of("standin_noop");

	fetch(block, ++seed);
	for (int i = 0; i < 3; i++)
		OK(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuMemsetD8Async(there, 0, BLOCK, NULL));
	CHECK_EQ(is_open(), !preloaded());
	CHECK(holds(block, BLOCK, seed));
}

static char taken[4];
STANDIN_EXPORT const unsigned standin_args_takes[] = { sizeof(taken), 0 };
STANDIN_EXPORT standin_twin_fn standin_twin_takes;
void standin_twin_takes(const unsigned grid[3], const unsigned blocks[3], void **args)
{
	(void)grid, (void)blocks;
	memcpy(taken, args[0], sizeof(taken));
}

/* The driver reads a kernel's parameters, and where they are, in the block itself. */
TEST_WITH(parameters, FETCHING)
{
	block = learned();
	CUfunction takes = function_of("takes");

	const void *first = block + BLOCK / 2;
	give(++seed);
	OK(cuMemcpyHtoD_v2(there, &first, sizeof(first)));
	fetch_what_is_there(block);
	OK(cuLaunchKernel(takes, 1, 1, 1, 1, 1, 1, 0, NULL, (void **)block, NULL));
	OK(cuCtxSynchronize());
	CHECK(holds_from(taken, BLOCK / 2, sizeof(taken), seed));
}

TEST_WITH(context_ends, FETCHING)
{
	block = learned();
	fetch(block, ++seed);
	OK(cuCtxDestroy_v2(context));
	CHECK(is_open());
	CHECK(holds(block, BLOCK, seed));
	free(block);
	/* And anew. */
	block = learned();
	for (int i = 0; i < 2; i++) {
		fetch(block, ++seed);
		CHECK(holds(block, BLOCK, seed));
	}
}

/* A device that fails does not fill it any more: nobody waits for ever, and the error is told. */
STANDIN_EXPORT standin_twin_fn standin_twin_fails;
void standin_twin_fails(const unsigned grid[3], const unsigned size[3], void **args)
{
	(void)grid, (void)size, (void)args;
	standin_twin_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
}
STANDIN_EXPORT const unsigned standin_args_fails[] = { 0 };

TEST_WITH(device_fails, FETCHING)
{
	block = learned();
	CUfunction fails = function_of("fails");

	give(++seed);
	OK(cuLaunchKernel(fails, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CUresult result = cuMemcpyDtoH_v2(block, there, BLOCK);
	pause_ms(1);
	block[5] = 1;
	CHECK_EQ(block[5], 1);
	if (result == CUDA_SUCCESS)
		result = cuCtxSynchronize();
	CHECK_EQ(result, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* Bad arguments are told at the call. */
TEST_WITH(bad_arguments, FETCHING)
{
	block = learned();
	memset(block, 1, BLOCK);
	CHECK_EQ(cuMemcpyDtoH_v2(block, 0x1234, BLOCK), CUDA_ERROR_INVALID_VALUE);
	CHECK(is_open());
	CHECK(block[0] == 1 && block[BLOCK - 1] == 1);
	fetch(block, ++seed);
	CHECK(holds(block, BLOCK, seed));
}

/* Processes that come of this one. */
TEST_WITH(children, FETCHING)
{
	block = learned();
	for (int way = 0; way < 2; way++) {
		int status = -1;

		fetch(block, ++seed);
		pid_t child = way == 0 ? fork() : fork_past_libc();
		if (child == 0)
			_exit(holds(block, BLOCK, seed) ? 5 : 6);
		CHECK(holds(block, BLOCK, seed));
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	}
}

/* What has come by the time a child touches it is there, and no device fills the rest. */
TEST_WITH(children_past_us, FETCHING)
{
	int status = -1;

	block = learned();
	fetch(block, ++seed);
	fflush(stdout);
	pid_t child = fork_past_all();
	if (child == 0) {
		alarm(20);
		memset(block, 1, BLOCK);
		_exit(block[BLOCK / 2] == 1 ? 5 : 6);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
	CHECK(holds(block, BLOCK, seed));
}

static void *fork_and_wait(void *arg)
{
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	return arg;
}

TEST_WITH(forks_meanwhile, FETCHING)
{
	pthread_t thread;

	block = learned();
	CHECK_EQ(pthread_create(&thread, NULL, fork_and_wait, NULL), 0);
	for (int i = 0; i < 10; i++) {
		give(++seed);
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		CHECK(holds(block, BLOCK, seed));
	}
	pthread_join(thread, NULL);
}

/* The program ends with bytes on their way; its handlers still see them. */
static void at_the_end(void)
{
	fflush(stdout);
	_exit(holds(block, BLOCK, seed) ? 42 : 1);
}

TEST_WITH(exits, FETCHING)
{
	int status = -1;

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		atexit(at_the_end);
		block = learned();
		fetch(block, ++seed);
		exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

/* Which copies wait as ever. */

static void waits_for(char *to, CUdeviceptr from, size_t bytes)
{
	OK(cuMemcpyDtoH_v2(to, from, bytes));
	CHECK(!is_on_its_way());
	pause_ms(3);
}

TEST_WITH(parts, FETCHING)
{
	static char plain[BLOCK];

	block = learned();
	for (int i = 0; i < 4; i++) {
		waits_for(block, there, BLOCK - 8);
		waits_for(block + 8, there, BLOCK - 8);
		waits_for(plain, there, BLOCK);
	}
}

/* What the device does could be seen: nothing comes back early until it no longer can. */
TEST_WITH(exposed, FETCHING)
{
	void *pinned;

	block = learned();
	OK(cuMemAllocHost_v2(&pinned, 4096));
	give(++seed);
	for (int i = 0; i < 4; i++)
		waits_for(block, there, BLOCK);
	CHECK(holds(block, BLOCK, seed));
	OK(cuMemFreeHost(pinned));
	pause_ms(3);
	fetch(block, ++seed);
	CHECK(holds(block, BLOCK, seed));
}

static void never_early(void)
{
	for (int i = 0; i < 4; i++) {
		give(++seed);
		waits_for(block, there, BLOCK);
		CHECK(holds(block, BLOCK, seed));
	}
}

/* The program has the kernel touch its memory when nobody can know. */
static void taken_over_by(long number)
{
	char room[256] = { 0 };

	block = learned();
	fetch(block, ++seed);
	/* Whether the kernel has it or not. */
	int fd = (int)syscall(number, number == SYS_userfaultfd ? O_CLOEXEC : 1, room);
	CHECK(is_open());
	CHECK(holds(block, BLOCK, seed));
	never_early();
	close(fd);
}

TEST_WITH(user_faults, FETCHING)
{
	taken_over_by(SYS_userfaultfd);
}

TEST_WITH(kernel_queues, FETCHING)
{
	taken_over_by(SYS_io_setup);
}

TEST_WITH(kernel_rings, FETCHING)
{
	taken_over_by(SYS_io_uring_setup);
}

/* The pipe has the block's own pages. */
static void spliced_by(ssize_t (*splice)(int fd, const struct iovec *range))
{
	static char read_back[16 * KIB];
	int ends[2];

	block = learned();
	struct iovec range = { block, sizeof(read_back) };

	give(5);
	memset(block, 0, BLOCK);
	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(splice(ends[1], &range), (ssize_t)range.iov_len);
	OK(cuMemcpyDtoH_v2(block, there, BLOCK));
	CHECK_EQ(read(ends[0], read_back, range.iov_len), (ssize_t)range.iov_len);
	CHECK(holds(read_back, range.iov_len, 5));
}

static ssize_t splice_by_libc(int fd, const struct iovec *range)
{
	return vmsplice(fd, range, 1, 0);
}

static ssize_t splice_past_libc(int fd, const struct iovec *range)
{
	return syscall(SYS_vmsplice, fd, range, 1L, 0L);
}

TEST_WITH(spliced, FETCHING)
{
	spliced_by(splice_by_libc);
}

TEST_WITH(spliced_past_libc, FETCHING)
{
	spliced_by(splice_past_libc);
}

/* Calls that fill in more than a structure or a name: not by way of a program's own touch. */
TEST_WITH(lists_from_the_kernel, FETCHING)
{
	int folder = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	block = learned();
	fetch(block, 3);
	CHECK(getdents64(folder, block, BLOCK) > 0);
	CHECK(holds_from(block + MIB, MIB, MIB, 3));
	fetch(block, 4);
	CHECK_EQ(mincore((char *)((uintptr_t)(block + MIB) & -(uintptr_t)4096), MIB,
			 (unsigned char *)block),
		 0);
	CHECK(holds_from(block + MIB, MIB, MIB, 4));
}

/* A file system may have none: what counts is that the memory is no reason. */
TEST_WITH(attributes_of_files, FETCHING)
{
	block = learned();

#define NO_FAULT(call)                                       \
	do {                                                 \
		fetch_what_is_there(block);                  \
		errno = 0;                                   \
		CHECK((call) >= 0 || errno != EFAULT);       \
		CHECK(holds_from(block + MIB, MIB, MIB, 6)); \
	} while (0)

	give(6);
	NO_FAULT(fsetxattr(STDOUT_FILENO, "user.hotpin", block, 16, XATTR_REPLACE));
	NO_FAULT(setxattr("/", "user.hotpin", block, 16, XATTR_REPLACE));
	NO_FAULT(lsetxattr("/", "user.hotpin", block, 16, XATTR_REPLACE));
	NO_FAULT(fgetxattr(STDOUT_FILENO, "user.hotpin", block, 16));
	NO_FAULT(getxattr("/", "user.hotpin", block, 16));
	NO_FAULT(lgetxattr("/", "user.hotpin", block, 16));
	NO_FAULT(flistxattr(STDOUT_FILENO, block, KIB));
	NO_FAULT(listxattr("/", block, KIB));
	NO_FAULT(llistxattr("/", block, KIB));
}

/* Each touch would stop a program that is being debugged. */
TEST_WITH(traced, FETCHING)
{
	int status = -1, stops = 0;

	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		begin();
		block = promoted(BLOCK);
		never_early();
		_exit(check_failures == 0 ? 42 : 1);
	}
	while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		stops += WSTOPSIG(status) == SIGSEGV;
		ptrace(PTRACE_CONT, child, NULL, (void *)(uintptr_t)WSTOPSIG(status));
	}
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 42);
	CHECK_EQ(stops, 0);
}

/* On the stream of its thread. */
static void *on_its_own(void *arg)
{
	char *mine;
	int early = 0;

	OK(cuCtxSetCurrent(context));
	mine = promoted(BLOCK);
	for (int i = 0; i < 8; i++) {
		give(++seed);
		memset(mine, 0xee, BLOCK);
		OK(cuMemcpyDtoH_v2_ptds(mine, there, BLOCK));
		early += standin_pending(CU_STREAM_PER_THREAD) > 0;
		pause_ms(3);
		CHECK(holds(mine, BLOCK, seed));
		/* The legacy stream of others comes behind it. */
		OK(cuMemsetD8_v2(there, 0, BLOCK));
	}
	CHECK(!preloaded() || early > 0);
	return arg;
}

TEST_WITH(per_thread, FETCHING)
{
	pthread_t thread;

	begin();
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(pthread_create(&thread, NULL, on_its_own, NULL), 0);
		pthread_join(thread, NULL);
	}
}

/* What would change its source on another thread's stream waits for it. */
static void *overwrite(void *arg)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemsetD8Async_ptsz(there, 0, BLOCK, NULL));
	standin_step(CU_STREAM_PER_THREAD, 100);
	return arg;
}

TEST_WITH(per_thread_order, FETCHING)
{
	pthread_t thread;

	begin();
	block = promoted(BLOCK);
	for (int i = 0; i < 8; i++) {
		give(++seed);
		memset(block, 0xee, BLOCK);
		OK(cuMemcpyDtoH_v2_ptds(block, there, BLOCK));
		CHECK_EQ(pthread_create(&thread, NULL, overwrite, NULL), 0);
		pthread_join(thread, NULL);
		pause_ms(3);
		CHECK(holds(block, BLOCK, seed));
		OK(cuCtxSynchronize());
	}
}

/* A block in several registrations. */
TEST_WITH(in_pieces, FETCHING)
{
	const size_t bytes = 24 * MIB;
	int early = 0;

	begin();
	block = promoted(bytes);
	CHECK_EQ(standin_registrations() > 1, preloaded());
	fill(block, bytes, 5);
	OK(cuMemcpyHtoD_v2(there, block, bytes));
	OK(cuCtxSynchronize());
	for (int i = 0; i < 6; i++) {
		memset(block, 0xee, bytes);
		OK(cuMemcpyDtoH_v2(block, there, bytes));
		early += is_on_its_way();
		pause_ms(3);
		CHECK(holds(block, bytes, 5));
	}
	CHECK(!preloaded() || early > 0);
}

/* A block in several registrations, at a site whose data was looked at late. */
static char *learned_in_pieces(size_t bytes)
{
	char *pieces;

	begin();
	pieces = promoted(bytes);
	CHECK_EQ(standin_registrations() > 1, preloaded());
	for (int i = 0; i < 6 && !is_on_its_way(); i++) {
		OK(cuMemcpyDtoH_v2(pieces, there, bytes));
		pause_ms(3);
	}
	CHECK_EQ(is_on_its_way(), preloaded());
	OK(cuCtxSynchronize());
	return pieces;
}

/* In the order of their own stream, and here when the call is back. */
TEST_WITH(asynchronous, FETCHING)
{
	const size_t bytes = 24 * MIB;
	CUstream stream;

	block = learned_in_pieces(bytes);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 3; i++) {
		memset(block, 0xee, bytes);
		OK(cuMemsetD8Async(there, (unsigned char)i, bytes, stream));
		OK(cuMemcpyDtoHAsync_v2(block, there, bytes, stream));
		CHECK(is_open());
		CHECK(block[0] == i && block[bytes - 1] == i);
	}
}

/* Rows of the device's with gaps between them. */
TEST_WITH(rows, FETCHING)
{
	CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcPitch = 8192,
			       .dstMemoryType = CU_MEMORYTYPE_HOST,
			       .dstPitch = 4096,
			       .WidthInBytes = 4096,
			       .Height = BLOCK / 4096 };

	block = learned();
	rows.srcDevice = there;
	rows.dstHost = block;
	OK(cuMemsetD8_v2(there, 9, 2 * BLOCK));
	OK(cuMemsetD2D8_v2(there, 8192, 3, 4096, BLOCK / 4096));
	for (int i = 0; i < 3; i++) {
		memset(block, 0xee, BLOCK);
		OK(cuMemcpy2D_v2(&rows));
		CHECK(is_open());
		CHECK(block[0] == 3 && block[BLOCK / 2 + 4095] == 3 && block[BLOCK - 1] == 3);
	}
}

/* The first copy of another block of the site, which is pinned as it goes. */
TEST_WITH(pinned_as_it_comes, FETCHING)
{
	const size_t bytes = 24 * MIB;

	begin();
	for (int turn = 0; turn < 3; turn++) {
		block = malloc(bytes);
		fill(block, bytes, 5);
		for (int i = 0; i < 8; i++) {
			if (turn == 0)
				OK(cuMemcpyHtoD_v2(there, block, bytes));
			memset(block, 0xee, bytes);
			OK(cuMemcpyDtoH_v2(block, there, bytes));
			pause_ms(3);
			CHECK(holds(block, bytes, 5));
		}
		CHECK_EQ(standin_pinned(block) != 0, preloaded());
	}
}

/* Closed pages of a trial are open to whom the driver may be told of. */
TEST_WITH(trials, FETCHING)
{
	begin();
	block = promoted(BLOCK);
	give(++seed);
	for (int i = 0; i < 40; i++) {
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		OK(cuCtxSynchronize());
		CHECK(is_open());
		CHECK(holds(block, BLOCK, seed));
	}
}

/* Not even on trial. */
TEST_WITH(exposed_from_the_start, FETCHING)
{
	void *pinned;

	begin();
	OK(cuMemAllocHost_v2(&pinned, 4096));
	block = promoted(BLOCK);
	for (int i = 0; i < 4; i++) {
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		CHECK(is_open());
	}
}

/* Without tickets and with events that cannot be recorded nobody could say when it is over. */
#define NO_EVENT(n) "cuEventRecord:" n ":2"
TEST_WITH(
	no_event_to_wait_for, FETCHING, "HOTPIN_EARLY=off",
	"STANDIN_FAIL=" NO("1") "," NO("2") "," NO("3") "," NO("4") "," NO("5") "," NO("6") "," NO_EVENT("1") "," NO_EVENT(
		"2") "," NO_EVENT("3") "," NO_EVENT("4") "," NO_EVENT("5") "," NO_EVENT("6") "," NO_EVENT("7") "," NO_EVENT("8"))
{
	begin();
	block = promoted(BLOCK);
	for (int i = 0; i < 8; i++) {
		give(++seed);
		memset(block, 0xee, BLOCK);
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		pause_ms(3);
		/* What is there is opened, on trial, too. */
		for (int k = 0; k < 1000 && !is_on_its_way() && !is_open(); k++)
			pause_ms(2);
		CHECK(is_on_its_way() || is_open());
		CHECK(holds(block, BLOCK, seed));
	}
}
#undef NO_EVENT

/* What is looked at at once had better been waited for. */
TEST_WITH(looked_at_at_once, FETCHING)
{
	int deferred = 0;

	begin();
	block = promoted(BLOCK);
	for (int i = 0; i < 12; i++) {
		give(++seed);
		memset(block, 0xee, BLOCK);
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		deferred += is_on_its_way();
		CHECK(holds(block, BLOCK, seed));
	}
	/* A turn that the machine holds up looks late, and what it has taught holds for some. */
	CHECK(deferred <= 4);
}

TEST_WITH(unlearned, FETCHING)
{
	int waited = 0;

	block = learned();
	/* Turns that the machine holds up look late, and it begins anew. */
	for (int i = 0; i < 100 && waited < 4; i++) {
		give(++seed);
		OK(cuMemcpyDtoH_v2(block, there, BLOCK));
		waited = is_on_its_way() ? 0 : waited + 1;
		CHECK(holds(block, BLOCK, seed));
	}
	CHECK_EQ(waited, 4);
}

TEST_WITH(not_asked_for, "HOTPIN_ASYNC=h2d")
{
	begin();
	block = promoted(BLOCK);
	for (int i = 0; i < 6; i++)
		waits_for(block, there, BLOCK);
}

PRELOAD_MAIN()
