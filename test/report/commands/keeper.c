/*
 * keeper.c - a preloaded library that keeps descriptors of its own in each process, as that of
 * ncu does: it refuses to close them, and ends a process that has lost them with the status 255.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

static int ends[2];
static struct stat status;

static void look(void)
{
	struct stat now;

	if (fstat(ends[1], &now) != 0 || now.st_ino != status.st_ino)
		_exit(255);
}

__attribute__((constructor)) static void start(void)
{
	if (pipe(ends) != 0 || fstat(ends[1], &status) != 0)
		_exit(1);
	pthread_atfork(look, NULL, NULL);
}

__attribute__((destructor)) static void end(void)
{
	look();
}

__attribute__((visibility("default"))) int close(int fd)
{
	if (fd != ends[0] && fd != ends[1])
		return ((int (*)(int))dlsym(RTLD_NEXT, "close"))(fd);
	errno = EBADF;
	return -1;
}
