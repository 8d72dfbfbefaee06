/*
 * fetch_io_calls.c - the calls of fetch_io.c.
 *
 * What a machine refuses to all programs is not called: it is told, and compared.
 */
#include "fetch_io.h"

#include <aio.h>
#include <mqueue.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>

/* A part of the block, whose first and last page are the block's own. */
#define AT    (3 * MIB + 64)
#define PART  ((size_t)64 * KIB)
#define TINY  ((size_t)2 * KIB)

#define OTHER 99 /* the seed of what comes from files and sockets */

ssize_t __read_chk(int fd, void *to, size_t bytes, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t bytes, off_t at, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t bytes, size_t room, int flags);
size_t __fread_chk(void *to, size_t room, size_t each, size_t count, FILE *file);

static char *block;
static int file = -1, pipes[2], sockets[2];
static unsigned seed = 100;
static FILE *buffered;

static void open_all(void)
{
	static char bytes[BYTES];

	file = memfd_create("file", 0);
	/* What does not come because it was refused is not waited for. */
	CHECK(file >= 0 && pipe2(pipes, O_NONBLOCK) == 0);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets) == 0);
	fill(bytes, BYTES, OTHER);
	CHECK(write(file, bytes, BYTES) == (ssize_t)BYTES);
	buffered = fdopen(dup(file), "r+");
	CHECK(buffered != NULL);
}

/* Before each: bytes on their way into the block, everything else at its beginning. */
static void again(void)
{
	static char source[BYTES];

	lseek(file, 0, SEEK_SET);
	rewind(buffered);
	fill(source, BYTES, ++seed);
	give(source);
	fetch(block);
	errno = 0;
}

/* A call's result: is it what it should be?  Not where no program may make that call. */
static bool gives(long long got, size_t bytes, const char *call, int line)
{
	if (got < 0 && (errno == ENOSYS || errno == EPERM)) {
		hazard_see(call, errno);
		return false;
	}
	return check_equal(got, (long long)bytes, call, __FILE__, line);
}
#define GIVES(bytes, call) gives((long long)(call), bytes, #call, __LINE__)

/* All of the block is what came from the device, but for `bytes` at AT that came from elsewhere. */
static bool has_got(size_t bytes)
{
	return holds(block, AT, seed) && holds(block + AT, bytes, OTHER) &&
	       holds_from(block + AT + bytes, AT + bytes, BYTES - AT - bytes, seed);
}

/* `bytes` from AT of the block are what is read from `fd`. */
static bool comes_out(int fd, size_t bytes)
{
	static char got[PART];
	size_t done = 0;
	ssize_t n;

	while (done < bytes && (n = read(fd, got + done, bytes - done)) > 0)
		done += (size_t)n;
	return done == bytes && holds_from(got, AT, bytes, seed) && holds(block, BYTES, seed);
}

static bool is_in_file(size_t bytes)
{
	bool right;

	lseek(file, 0, SEEK_SET);
	right = comes_out(file, bytes);
	/* As it was. */
	static char before[PART];
	fill(before, PART, OTHER);
	return pwrite(file, before, PART, 0) == (ssize_t)PART && right;
}

#define IN(bytes, call)                        \
	do {                                   \
		again();                       \
		if (GIVES(bytes, call))        \
			CHECK(has_got(bytes)); \
	} while (0)

#define OUT(fd, bytes, call)                         \
	do {                                         \
		again();                             \
		if (GIVES(bytes, call))              \
			CHECK(comes_out(fd, bytes)); \
	} while (0)

#define TO_FILE(bytes, call)                      \
	do {                                      \
		again();                          \
		if (GIVES(bytes, call))           \
			CHECK(is_in_file(bytes)); \
	} while (0)

/* What has been sent to our end. */
static void send_there(size_t bytes)
{
	static char source[PART];

	fill(source, bytes, OTHER);
	CHECK(write(sockets[1], source, bytes) == (ssize_t)bytes);
}

static void files(void)
{
	char *at = block + AT;
	struct iovec two[] = { { at, PART / 2 }, { at + PART / 2, PART / 2 } };

	IN(PART, read(file, at, PART));
	IN(PART, __read_chk(file, at, PART, PART));
	IN(PART, pread(file, at, PART, 0));
	IN(PART, pread64(file, at, PART, 0));
	IN(PART, __pread_chk(file, at, PART, 0, PART));
	IN(PART, readv(file, two, 2));
	IN(PART, preadv(file, two, 2, 0));
	IN(PART, preadv64(file, two, 2, 0));
	IN(PART, preadv2(file, two, 2, 0, 0));
	IN(PART, syscall(SYS_read, file, at, PART));
	IN(PART, syscall(SYS_readv, file, two, 2));
	IN(PART, fread(at, 1, PART, buffered));
	IN(PART, fread_unlocked(at, 1, PART, buffered));
	IN(PART, __fread_chk(at, PART, 1, PART, buffered));
	TO_FILE(PART, write(file, at, PART));
	TO_FILE(PART, pwrite(file, at, PART, 0));
	TO_FILE(PART, pwrite64(file, at, PART, 0));
	TO_FILE(PART, writev(file, two, 2));
	TO_FILE(PART, pwritev(file, two, 2, 0));
	TO_FILE(PART, pwritev64(file, two, 2, 0));
	TO_FILE(PART, pwritev2(file, two, 2, 0, 0));
	TO_FILE(PART, syscall(SYS_write, file, at, PART));
	TO_FILE(PART, syscall(SYS_pwritev, file, two, 2, 0, 0));
	TO_FILE(PART, fwrite(at, 1, PART, buffered) - (size_t)fflush(buffered));
	TO_FILE(PART, fwrite_unlocked(at, PART, 1, buffered) * PART - (size_t)fflush(buffered));
}

static void pipes_and_sockets(void)
{
	char *at = block + AT;
	struct iovec two[] = { { at, TINY / 2 }, { at + TINY / 2, TINY / 2 } };
	struct msghdr message = { .msg_iov = two, .msg_iovlen = 2 };
	struct mmsghdr messages = { .msg_hdr = message };

	OUT(pipes[0], TINY, write(pipes[1], at, TINY));
	OUT(sockets[1], TINY, send(sockets[0], at, TINY, 0));
	OUT(sockets[1], TINY, sendto(sockets[0], at, TINY, 0, NULL, 0));
	OUT(sockets[1], TINY, sendmsg(sockets[0], &message, 0));
	OUT(sockets[1], TINY, sendmmsg(sockets[0], &messages, 1, 0) * (ssize_t)TINY);
	OUT(sockets[1], TINY, syscall(SYS_sendmsg, sockets[0], &message, 0));
	OUT(sockets[1], TINY, syscall(SYS_sendmmsg, sockets[0], &messages, 1, 0) * (ssize_t)TINY);
	send_there(TINY);
	IN(TINY, recv(sockets[0], at, TINY, 0));
	send_there(TINY);
	IN(TINY, __recv_chk(sockets[0], at, TINY, TINY, 0));
	send_there(TINY);
	IN(TINY, recvfrom(sockets[0], at, TINY, 0, NULL, NULL));
	send_there(TINY);
	IN(TINY, recvmsg(sockets[0], &message, 0));
	send_there(TINY);
	IN(TINY, recvmmsg(sockets[0], &messages, 1, 0, NULL) * (int)TINY);
	send_there(TINY);
	IN(TINY, syscall(SYS_recvfrom, sockets[0], at, TINY, 0, NULL, NULL));
}

static void other_processes(void)
{
	static char plain[PART];
	char *at = block + AT;
	struct iovec ours = { at, PART }, theirs = { plain, PART };

	fill(plain, PART, OTHER);
	IN(PART, process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0));
	again();
	if (GIVES(PART, process_vm_writev(getpid(), &ours, 1, &theirs, 1, 0)))
		CHECK(holds_from(plain, AT, PART, seed));
	/* The far side is this process, too. */
	again();
	if (GIVES(PART, process_vm_readv(getpid(), &theirs, 1, &ours, 1, 0)))
		CHECK(holds_from(plain, AT, PART, seed));
	again();
	if (GIVES(PART, syscall(SYS_process_vm_readv, getpid(), &theirs, 1, &ours, 1, 0)))
		CHECK(holds_from(plain, AT, PART, seed));
	again();
	if (GIVES(PART, syscall(SYS_process_vm_writev, getpid(), &ours, 1, &theirs, 1, 0)))
		CHECK(holds_from(plain, AT, PART, seed));
}

static void aio_wait(struct aiocb *request, size_t bytes)
{
	const struct aiocb *list[] = { request };

	while (aio_error(request) == EINPROGRESS)
		aio_suspend(list, 1, NULL);
	CHECK_EQ(aio_error(request), 0);
	CHECK_EQ(aio_return(request), bytes);
}

static void asynchronous(void)
{
	struct aiocb request = { .aio_fildes = file, .aio_buf = block + AT, .aio_nbytes = PART };
	struct aiocb *list[] = { NULL, &request };

	again();
	CHECK_EQ(aio_read(&request), 0);
	aio_wait(&request, PART);
	CHECK(has_got(PART));
	again();
	CHECK_EQ(aio_write(&request), 0);
	aio_wait(&request, PART);
	CHECK(is_in_file(PART));
	again();
	request.aio_lio_opcode = LIO_READ;
	CHECK_EQ(lio_listio(LIO_WAIT, list, 2, NULL), 0);
	CHECK(has_got(PART));
}

static void queues(void)
{
	struct message {
		long type;
		char bytes[TINY];
	} * message, got;
	int queue;

	again();
	if (!GIVES(0, (queue = msgget(IPC_PRIVATE, 0600)) >= 0 ? 0 : -1))
		return;
	/* A type has to be positive. */
	size_t at = AT / 8;
	while ((long)word_at(at, seed) <= 0)
		at++;
	message = (struct message *)(block + at * 8);
	CHECK_EQ(msgsnd(queue, message, TINY, 0), 0);
	CHECK_EQ(msgrcv(queue, &got, TINY, 0, IPC_NOWAIT), TINY);
	CHECK(holds_from(got.bytes, at * 8 + 8, TINY, seed));
	fill(got.bytes, TINY, OTHER);
	got.type = 1;
	CHECK_EQ(msgsnd(queue, &got, TINY, 0), 0);
	again();
	message = (struct message *)(block + AT);
	CHECK_EQ(msgrcv(queue, message, TINY, 0, IPC_NOWAIT), TINY);
	CHECK(message->type == 1 && holds(message->bytes, TINY, OTHER));
	msgctl(queue, IPC_RMID, NULL);

	struct mq_attr shape = { .mq_maxmsg = 1, .mq_msgsize = TINY };
	char name[32];
	snprintf(name, sizeof(name), "/hotpin-fetch-%d", getpid());
	mqd_t posix = mq_open(name, O_RDWR | O_CREAT | O_NONBLOCK, 0600, &shape);
	if (posix == (mqd_t)-1)
		return;
	mq_unlink(name);
	again();
	CHECK_EQ(mq_send(posix, block + AT, TINY, 0), 0);
	CHECK_EQ(mq_receive(posix, got.bytes, TINY, NULL), TINY);
	CHECK(holds_from(got.bytes, AT, TINY, seed));
	fill(got.bytes, TINY, OTHER);
	CHECK_EQ(mq_send(posix, got.bytes, TINY, 0), 0);
	IN(TINY, mq_receive(posix, block + AT, TINY, NULL));
	mq_close(posix);
}

static void the_rest(void)
{
	again();
	CHECK_EQ(write(pipes[1], "12345", 5), 5);
	CHECK_EQ(ioctl(pipes[0], FIONREAD, block + AT), 0);
	CHECK_EQ(*(int *)(block + AT), 5);
	char five[5];
	CHECK_EQ(read(pipes[0], five, 5), 5);

	again();
	CHECK_EQ(getrandom(block, PART, 0), PART);
	CHECK(memcmp(block, (uint64_t[]){ word_at(0, seed) }, 8) != 0);
	CHECK(holds_from(block + PART, PART, BYTES - PART, seed));
	again();
	CHECK_EQ(getentropy(block, 256), 0);
	CHECK(holds_from(block + 256, 256, BYTES - 256, seed));
	/* Any that nobody knows more of. */
	again();
	CHECK_EQ(syscall(SYS_uname, block + AT), 0);
	CHECK(memcmp(block + AT, "Linux", 6) == 0);
	again();
	CHECK_EQ(fcntl(file, F_GETLK, (struct flock *)(block + AT)) == 0 || errno == EINVAL, true);
	CHECK(errno != EFAULT);

	/* What the kernel has always refused, it refuses still. */
	const struct iovec *volatile nowhere = (const struct iovec *)8;
	again();
	errno = 0;
	CHECK(readv(file, nowhere, 1) == -1 && errno == EFAULT);
	CHECK(sendmsg(sockets[0], (void *)nowhere, 0) == -1 && errno == EFAULT);
	errno = 77;
	CHECK_EQ(write(pipes[1], block, 0), 0);
	CHECK_EQ(errno, 77);
	CHECK(holds(block, BYTES, seed));
}

/* Who sent it, and what came beside it, go into the block. */
static void heads_of_messages(void)
{
	struct sockaddr_un self = { .sun_family = AF_UNIX };
	socklen_t length = sizeof(self);
	char byte = 1;
	struct iovec one = { &byte, 1 };
	int end = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0), yes = 1;
	struct msghdr head = { .msg_name = block + AT,
			       .msg_namelen = sizeof(self),
			       .msg_iov = &one,
			       .msg_iovlen = 1 };

	/* To itself, by a name that the kernel makes. */
	CHECK_EQ(bind(end, (struct sockaddr *)&self, sizeof(sa_family_t)), 0);
	CHECK_EQ(getsockname(end, (struct sockaddr *)&self, &length), 0);
	CHECK_EQ(sendto(end, &byte, 1, 0, (struct sockaddr *)&self, length), 1);
	again();
	CHECK_EQ(recvmsg(end, &head, 0), 1);
	CHECK(head.msg_namelen == length && memcmp(block + AT, &self, length) == 0);

	CHECK_EQ(setsockopt(end, SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)), 0);
	CHECK_EQ(sendto(end, &byte, 1, 0, (struct sockaddr *)&self, length), 1);
	head.msg_name = NULL;
	head.msg_namelen = 0;
	head.msg_control = block + AT;
	head.msg_controllen = 256;
	again();
	CHECK_EQ(recvmsg(end, &head, 0), 1);
	CHECK(head.msg_controllen > 0 && (head.msg_flags & MSG_CTRUNC) == 0);
	CHECK_EQ(CMSG_FIRSTHDR(&head)->cmsg_type, SCM_CREDENTIALS);
	close(end);
}

/* What the kernel is to read, or where, stands in the block itself. */
static void lists_in_the_block(void)
{
	static char text[BYTES];
	char got[8] = "";

	memcpy(text + 64, &(struct iovec){ "vector", 6 }, sizeof(struct iovec));
	give(text);
	fetch(block);
	CHECK_EQ(writev(pipes[1], (struct iovec *)(block + 64), 1), 6);
	CHECK_EQ(read(pipes[0], got, sizeof(got)), 6);
	CHECK(memcmp(got, "vector", 6) == 0);
}

/* A program's name and arguments in the block. */
static void programs(void)
{
	static char text[BYTES];
	char got[16] = "";

	strcpy(text + 64, "/bin/echo");
	strcpy(text + 128, "as it was");
	char **arguments = (char **)text;
	arguments[0] = block + 64;
	arguments[1] = block + 128;
	arguments[2] = NULL;
	for (volatile int way = 0; way < 3; way++) {
		pid_t child = -1;
		posix_spawn_file_actions_t actions;

		give(text);
		fetch(block);
		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
		char **list = (char **)block;
		if (way == 0) {
			CHECK_EQ(posix_spawn(&child, block + 64, &actions, NULL, list, environ), 0);
		} else if ((child = way == 1 ? fork() : vfork()) == 0) {
			dup2(pipes[1], 1);
			execv(block + 64, list);
			_exit(127);
		}
		int status = -1;
		CHECK_EQ(waitpid(child, &status, 0), child);
		CHECK_EQ(status, 0);
		CHECK_EQ(read(pipes[0], got, sizeof(got)), 10);
		CHECK(memcmp(got, "as it was\n", 10) == 0);
	}
}

void call_all(char *in)
{
	block = in;
	open_all();
	files();
	pipes_and_sockets();
	other_processes();
	asynchronous();
	queues();
	the_rest();
	heads_of_messages();
	lists_in_the_block();
	programs();
}
