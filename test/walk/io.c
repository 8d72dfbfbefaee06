/*
 * io.c - other accesses to host memory: system calls, children, signal handlers.
 */
#include "walk.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define FILE_BYTES   (256 * KIB)
#define SOCKET_BYTES (32 * KIB)

static int file = -1, ends[2];

static void open_once(void)
{
	if (file >= 0)
		return;
	file = memfd_create("walk-file", MFD_CLOEXEC);
	if (file < 0 || ftruncate(file, FILE_BYTES) != 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		fail("no file");
}

/* Chooses a range of a buffer that system calls may read or write, of at most `most` bytes. */
static bool part(struct buffer **ret, size_t *lo, size_t *hi, size_t most, bool write)
{
	struct buffer *b = *ret = some_host();

	if (b == NULL)
		return false;
	some_range(b, lo, hi);
	if (*hi - *lo > most)
		*hi = *lo + most;
	buffer_define(b, 0, 0, false);
	return host_may(b, *lo, *hi, write);
}

static void by_file(void)
{
	struct buffer *b;
	size_t lo, hi, at = below(FILE_BYTES / 2), n;

	if (!part(&b, &lo, &hi, FILE_BYTES / 2, true))
		return;
	n = hi - lo;
	switch (below(6)) {
	case 0:
		SAYS(pwrite(file, b->at + lo, n, (off_t)at), "pwrite(h%d+%zu, %zu)", b->number, lo,
		     n);
		break;
	case 1:
		SAYS(pread(file, b->at + lo, n, (off_t)at), "pread(h%d+%zu, %zu)", b->number, lo,
		     n);
		break;
	case 2:
		SAYS(lseek(file, (off_t)at, SEEK_SET), "lseek(%zu)", at);
		SAYS(write(file, b->at + lo, n), "write(h%d+%zu, %zu)", b->number, lo, n);
		break;
	case 3:
		SAYS(lseek(file, (off_t)at, SEEK_SET), "lseek(%zu)", at);
		SAYS(read(file, b->at + lo, n), "read(h%d+%zu, %zu)", b->number, lo, n);
		break;
	default: {
		struct iovec both[2] = { { b->at + lo, n / 2 }, { b->at + lo + n / 2, n - n / 2 } };

		SAYS(lseek(file, (off_t)at, SEEK_SET), "lseek(%zu)", at);
		if (one_in(2))
			SAYS(writev(file, both, 2), "writev(h%d+%zu, %zu)", b->number, lo, n);
		else
			SAYS(readv(file, both, 2), "readv(h%d+%zu, %zu)", b->number, lo, n);
		break;
	}
	}
}

static void by_socket(void)
{
	struct buffer *from, *to;
	size_t lo, hi, at, end;

	if (!part(&from, &lo, &hi, SOCKET_BYTES, false))
		return;
	if (!part(&to, &at, &end, SOCKET_BYTES, true))
		return;
	struct iovec out = { from->at + lo, hi - lo }, in = { to->at + at, end - at };
	struct msghdr send_it = { .msg_iov = &out, .msg_iovlen = 1 };
	struct msghdr take_it = { .msg_iov = &in, .msg_iovlen = 1 };

	if (one_in(2))
		SAYS(send(ends[0], out.iov_base, out.iov_len, 0), "send(h%d+%zu, %zu)",
		     from->number, lo, hi - lo);
	else
		SAYS(sendmsg(ends[0], &send_it, 0), "sendmsg(h%d+%zu, %zu)", from->number, lo,
		     hi - lo);
	if (one_in(2))
		SAYS(recv(ends[1], in.iov_base, in.iov_len, MSG_DONTWAIT), "recv(h%d+%zu, %zu)",
		     to->number, at, end - at);
	else
		SAYS(recvmsg(ends[1], &take_it, MSG_DONTWAIT), "recvmsg(h%d+%zu, %zu)", to->number,
		     at, end - at);
	/* Leaves nothing for the next step. */
	static char rest[SOCKET_BYTES];
	ssize_t left = recv(ends[1], rest, sizeof(rest), MSG_DONTWAIT);
	if (left > 0)
		tell(hash_of(rest, (size_t)left));
}

static bool used;

void io_forget(void)
{
	if (used && (ftruncate(file, 0) != 0 || ftruncate(file, FILE_BYTES) != 0))
		fail("no file");
	used = false;
}

void step_io(void)
{
	open_once();
	used = true;
	if (one_in(3))
		by_socket();
	else
		by_file();
}

/* Hashes memory that nothing is writing, and that a child gets a copy of. */
static uint64_t hash_of_all(void)
{
	bool frozen = p.frozen;
	uint64_t hash = 0;

	p.frozen = true;
	for (int i = 0; i < HOSTS; i++) {
		struct buffer *b = &p.host[i];

		if (b->where != W_NOWHERE && b->where != W_PINNED && b->where != W_MANAGED &&
		    b->pin_hi == 0 && b->defined && host_may(b, 0, b->bytes, false))
			hash = hash * 31 + hash_of(b->at, b->bytes);
	}
	p.frozen = frozen;
	return hash;
}

void step_fork(void)
{
	struct buffer *b = some_host();
	int pipes[2], status = -1;
	uint64_t hash = 0;

	/* These steps take long. */
	if (!one_in(10))
		return;
	if (pipe(pipes) != 0)
		fail("no pipe");
	errno = 77;
	pid_t child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		hash = hash_of_all();
		if (write(pipes[1], &hash, sizeof(hash)) != sizeof(hash))
			_exit(9);
		/* The child writes its own copy. */
		if (b != NULL && b->where == W_MALLOC && b->pin_hi == 0)
			memset(b->at, 0xee, b->bytes);
		_exit((int)(hash % 100));
	}
	tell((uint64_t)errno);
	if (read(pipes[0], &hash, sizeof(hash)) != sizeof(hash) ||
	    waitpid(child, &status, 0) != child)
		note("the child said nothing");
	close(pipes[0]);
	close(pipes[1]);
	tell(hash);
	tell((uint64_t)status);
	note("a child saw %016llx, status %d", (unsigned long long)hash, status);
}

static struct buffer *seen;
static uint64_t seen_hash;

static void on_signal(int number)
{
	(void)number;
	seen_hash = hash_of(seen->at, seen->bytes < 64 * KIB ? seen->bytes : 64 * KIB);
}

void step_signal(void)
{
	struct sigaction act = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	seen = some_host();
	if (seen == NULL)
		return;
	buffer_define(seen, 0, 0, false);
	if (!host_may(seen, 0, seen->bytes, false))
		return;
	sigaction(SIGUSR1, &act, NULL);
	SAYS(raise(SIGUSR1), "raise()");
	tell(seen_hash);
	note("a handler saw h%d as %016llx", seen->number, (unsigned long long)seen_hash);
}
