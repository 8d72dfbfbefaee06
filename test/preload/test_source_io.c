/*
 * test_source_io.c - what the kernel is told to write into a block that is still to be read.
 *
 * It would answer EFAULT: every call of libc that names memory has to wait first.
 */
#include "source.h"

#include <aio.h>
#include <errno.h>
#include <mqueue.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define AT    (2 * MIB + 64)
#define PART  ((size_t)64 * KIB)
#define TINY  ((size_t)2 * KIB)
#define OTHER 99 /* the seed of what comes from files and sockets */

ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
size_t __fread_chk(void *to, size_t room, size_t each, size_t count, FILE *file);

static char *block;
static unsigned seed = 100;
static int file, sockets[2];
static FILE *stream;

static void open_all(void)
{
	static char bytes[PART];

	file = memfd_create("file", 0);
	CHECK(file >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
	fill(bytes, PART, OTHER);
	CHECK(write(file, bytes, PART) == (ssize_t)PART);
	stream = fdopen(dup(file), "r");
	CHECK(stream != NULL);
}

/* The block is on its way, and everything else at its beginning. */
static void again(void)
{
	lseek(file, 0, SEEK_SET);
	rewind(stream);
	upload(block, BLOCK, ++seed);
}

/* The block has what came, the device what was there before. */
#define IN(bytes, call)                                  \
	do {                                             \
		again();                                 \
		CHECK_EQ(call, bytes);                   \
		CHECK(holds(block + AT, bytes, OTHER));  \
		CHECK(device_holds(there, BLOCK, seed)); \
	} while (0)

static void send_there(size_t bytes)
{
	static char source[PART];

	fill(source, bytes, OTHER);
	CHECK(write(sockets[1], source, bytes) == (ssize_t)bytes);
}

TEST_WITH(files, EARLY)
{
	block = source_of(BLOCK);
	open_all();
	char *at = block + AT;
	struct iovec two[] = { { at, PART / 2 }, { at + PART / 2, PART / 2 } };

	IN(PART, read(file, at, PART));
	IN(PART, __read_chk(file, at, PART, PART));
	IN(PART, pread(file, at, PART, 0));
	IN(PART, readv(file, two, 2));
	IN(PART, preadv2(file, two, 2, 0, 0));
}

TEST_WITH(past_libc, EARLY)
{
	block = source_of(BLOCK);
	open_all();
	char *at = block + AT;
	struct iovec two[] = { { at, PART / 2 }, { at + PART / 2, PART / 2 } };

	IN(PART, syscall(SYS_read, file, at, PART));
	IN(PART, syscall(SYS_readv, file, two, 2));
	IN(PART, fread(at, 1, PART, stream));
	IN(PART, __fread_chk(at, PART, 1, PART, stream));
}

TEST_WITH(from_sockets, EARLY)
{
	block = source_of(BLOCK);
	open_all();
	char *at = block + AT;
	struct iovec two[] = { { at, TINY / 2 }, { at + TINY / 2, TINY / 2 } };
	struct msghdr message = { .msg_iov = two, .msg_iovlen = 2 };

	send_there(TINY);
	IN(TINY, recv(sockets[0], at, TINY, 0));
	send_there(TINY);
	IN(TINY, __recv_chk(sockets[0], at, TINY, TINY, 0));
	send_there(TINY);
	IN(TINY, recvfrom(sockets[0], at, TINY, 0, NULL, NULL));
	send_there(TINY);
	IN(TINY, recvmsg(sockets[0], &message, 0));
	send_there(TINY);
	IN(TINY, syscall(SYS_recvfrom, sockets[0], at, TINY, 0, NULL, NULL));
}

TEST_WITH(from_processes, EARLY)
{
	static char plain[PART];

	block = source_of(BLOCK);
	open_all();
	fill(plain, PART, OTHER);
	char *at = block + AT;
	struct iovec ours = { at, PART }, theirs = { plain, PART };

	IN(PART, process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0));
	IN(PART, process_vm_writev(getpid(), &theirs, 1, &ours, 1, 0));
	IN(PART, syscall(SYS_process_vm_writev, getpid(), &theirs, 1, &ours, 1, 0));
}

TEST_WITH(asynchronous, EARLY)
{
	block = source_of(BLOCK);
	open_all();
	struct aiocb request = { .aio_fildes = file, .aio_buf = block + AT, .aio_nbytes = PART };
	const struct aiocb *list[] = { &request };

	again();
	CHECK_EQ(aio_read(&request), 0);
	while (aio_error(&request) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	CHECK_EQ(aio_return(&request), PART);
	CHECK(holds(block + AT, PART, OTHER));
	CHECK(device_holds(there, BLOCK, seed));
}

TEST_WITH(the_rest, EARLY)
{
	int pipes[2];

	block = source_of(BLOCK);
	open_all();
	CHECK(pipe(pipes) == 0 && write(pipes[1], "12345", 5) == 5);
	again();
	CHECK_EQ(ioctl(pipes[0], FIONREAD, block + AT), 0);
	CHECK_EQ(*(int *)(block + AT), 5);
	CHECK(device_holds(there, BLOCK, seed));
	again();
	CHECK_EQ(getrandom(block, PART, 0), PART);
	CHECK(device_holds(there, BLOCK, seed));
	again();
	CHECK_EQ(getentropy(block, 256), 0);
	CHECK(device_holds(there, BLOCK, seed));
	/* What is only read is there. */
	again();
	CHECK_EQ(pwrite(file, block, PART, 0), PART);
	CHECK(device_holds(there, BLOCK, seed));
}

PRELOAD_MAIN()
