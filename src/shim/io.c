/*
 * io.c - what a libc call has to wait for while pages are closed.
 *
 * The kernel does not raise a signal for a closed page, it answers EFAULT.  Called with any lock of
 * libc's or the program's held, also in signal handlers: nothing here allocates, and nobody is
 * waited for but the device.
 */
#define _GNU_SOURCE
#include "shim/io.h"
#include "base/bare.h"
#include "base/protections.h"
#include "defer/protect.h"
#include "shim/fetching.h"
#include "shim/shim.h"

#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum io_kind {
	IO_BYTES,
	IO_ITEMS,
	IO_VECTOR,
	IO_VECTORS,
	IO_GIVES,
	IO_MESSAGE,
	IO_MESSAGES,
	IO_AIO,
	IO_AIOS,
	IO_ANY,
	IO_ALL,
	IO_IOCTL,
	IO_SYSCALL,
	IO_NOTHING,
};

static const struct io_fact {
	char name[27]; /* no pointer: the loader would have to set it in every process */
	uint8_t kind;  /* enum io_kind */
	uint8_t a, b, c;
} facts[IO_ROW_COUNT] = {
#define IO(name, kind, a, b, c) { #name, IO_##kind, a, b, c },
#define SIGNAL(name)            { #name, IO_NOTHING, 0, 0, 0 },
#include "real/io.def"
};

/* Written by any thread that looks, always to the same value.  Read by io_entry.S. */
extern void *_Atomic shim_io_next[IO_ROW_COUNT] __attribute__((visibility("hidden")));
void *_Atomic shim_io_next[IO_ROW_COUNT];

/* For a function that this libc does not have. */
static long is_missing(void)
{
	errno = ENOSYS;
	return -1;
}

long shim_io_failed(long answer)
{
	errno = (int)-answer;
	return -1;
}

/* Before glibc 2.34 some are in a library of their own, which whoever calls may have for itself. */
static void *find_in_librt(const char *name)
{
	void *librt = dlopen("librt.so.1", RTLD_LAZY | RTLD_NOLOAD);

	return librt != NULL ? shim_dlsym_next(librt, name) : NULL;
}

void *shim_io_find(enum io_row row)
{
	void *next = atomic_load_explicit(&shim_io_next[row], memory_order_relaxed);
	int saved = errno;

	if (next != NULL)
		return next;
	if (shim_dlsym_next == NULL && shim_dlsym_find() == NULL)
		return (void *)is_missing;
	next = shim_dlsym_next(RTLD_NEXT, facts[row].name);
	if (next == NULL) {
		next = find_in_librt(facts[row].name);
		dlerror();
	}
	/* What is not there may come with a library that is opened later. */
	if (next != NULL)
		atomic_store(&shim_io_next[row], next);
	errno = saved;
	return next != NULL ? next : (void *)is_missing;
}

void shim_io_find_all(void)
{
	for (int row = 0; row < IO_ROW_COUNT; row++)
		shim_io_find((enum io_row)row);
}

/* Where the driver is; dladdr() would take a lock of the loader's. */
static _Atomic uintptr_t driver_from, driver_to;

static int is_this_one(struct dl_phdr_info *object, size_t size, void *arg)
{
	uintptr_t inside = (uintptr_t)arg, from = UINTPTR_MAX, to = 0;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t at = object->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		from = at < from ? at : from;
		to = at + part->p_memsz > to ? at + part->p_memsz : to;
	}
	if (inside < from || inside >= to)
		return 0;
	atomic_store(&driver_from, from);
	atomic_store(&driver_to, to);
	return 1;
}

void shim_io_know_driver(void)
{
	dl_iterate_phdr(is_this_one, atomic_load(&real_driver[REAL_ROW_cuInit]));
}

static bool is_drivers(const void *caller)
{
	return (uintptr_t)caller - atomic_load(&driver_from) <
	       atomic_load(&driver_to) - atomic_load(&driver_from);
}

bool shim_io_peek(void *to, const void *from, size_t bytes)
{
	struct iovec here = { to, bytes }, there = { (void *)from, bytes };
	long self = hp_bare4(SYS_getpid, 0, 0, 0, 0);

	protect_join_range(from, bytes);
	return hp_bare6(SYS_process_vm_readv, self, (long)&here, 1, (long)&there, 1, 0) ==
	       (long)bytes;
}

static void join_vector(const struct iovec *vector, size_t count)
{
	struct iovec one;

	for (size_t i = 0; i < count && i < IOV_MAX && shim_io_peek(&one, &vector[i], sizeof(one));
	     i++)
		protect_join_range(one.iov_base, one.iov_len);
}

static void join_message(const struct msghdr *message)
{
	struct msghdr header;

	if (!shim_io_peek(&header, message, sizeof(header)))
		return;
	protect_join_range(header.msg_name, header.msg_namelen);
	protect_join_range(header.msg_control, header.msg_controllen);
	join_vector(header.msg_iov, header.msg_iovlen);
}

static void join_messages(const struct mmsghdr *messages, size_t count)
{
	for (size_t i = 0; i < count && i < IOV_MAX; i++) {
		protect_join_range(&messages[i], sizeof(messages[i]));
		join_message(&messages[i].msg_hdr);
	}
}

static void join_aio(const struct aiocb *request)
{
	struct aiocb one;

	if (shim_io_peek(&one, request, sizeof(one)))
		protect_join_range((const void *)one.aio_buf, one.aio_nbytes);
}

static void join_aios(struct aiocb *const *list, size_t count)
{
	struct aiocb *one;

	for (size_t i = 0; i < count && i < IOV_MAX && shim_io_peek(&one, &list[i], sizeof(one));
	     i++)
		if (one != NULL)
			join_aio(one);
}

static void join_any(const uint64_t *arguments, size_t count)
{
	for (size_t i = 0; i < count; i++)
		protect_join_range((const void *)arguments[i], 1);
}

/*
 * What closes pages, or has the kernel touch memory when nobody can know.  What vmsplice() has put
 * into a pipe is the block's pages: a copy that comes later is to be there for who reads the pipe.
 */
static bool takes_over(long number)
{
	return number == SYS_io_uring_setup || number == SYS_userfaultfd ||
	       number == SYS_io_setup || number == SYS_vmsplice;
}

/*
 * Memory is given to a network card or to other processes, which then read and write it when nobody
 * here can know: RDMA_IOCTL_MAGIC of linux/rdma, and XPMEM's.
 */
static bool gives_away(uint64_t request)
{
	unsigned type = request >> 8 & 0xff;

	return type == 0x1b || type == 'x';
}

/* What ends all of this, before it is known whether anything is closed. */
static bool ends_it(const struct io_fact *fact, const uint64_t *of)
{
	if (fact->kind == IO_IOCTL)
		return gives_away(of[fact->a]);
	if (fact->kind == IO_GIVES)
		return true;
	if (fact->kind != IO_SYSCALL)
		return false;
	return takes_over((long)of[0]) || (of[0] == SYS_ioctl && gives_away(of[2]));
}

/* `of`: its arguments, as far as registers hold them; the number came first. */
static void join_syscall(long number, const uint64_t *of)
{
	switch (number) {
	case SYS_readv:
	case SYS_writev:
	case SYS_preadv:
	case SYS_pwritev:
	case SYS_preadv2:
	case SYS_pwritev2:
	case SYS_vmsplice:
		join_vector((const struct iovec *)of[1], of[2]);
		break;
	case SYS_process_vm_readv:
	case SYS_process_vm_writev:
		join_vector((const struct iovec *)of[1], of[2]);
		join_vector((const struct iovec *)of[3], of[4]);
		break;
	case SYS_sendmsg:
	case SYS_recvmsg:
		join_message((const struct msghdr *)of[1]);
		break;
	case SYS_sendmmsg:
	case SYS_recvmmsg:
		join_messages((const struct mmsghdr *)of[1], of[2]);
		break;
	case SYS_read:
	case SYS_write:
	case SYS_pread64:
	case SYS_pwrite64:
	case SYS_sendto:
	case SYS_recvfrom:
		protect_join_range((const void *)of[1], of[2]);
		break;
	case SYS_getrandom:
		protect_join_range((const void *)of[0], of[1]);
		break;
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_madvise:
	case SYS_mlock:
	case SYS_mlock2:
		protect_join_range((const void *)of[0], of[1]);
		break;
	case SYS_ioctl:
#ifdef SYS_fork /* newer machines have clone alone */
	case SYS_fork:
	case SYS_vfork:
#endif
	case SYS_clone:
	case SYS_clone3:
	case SYS_execve:
	case SYS_execveat:
		protect_join_all();
		break;
	default:
		join_any(of, 5);
	}
}

/* Each kind is a protection of its own. */
static bool keeps(enum io_kind kind)
{
	switch (kind) {
	case IO_BYTES:
		return hp_keeps(fetched_io_bytes);
	case IO_ITEMS:
		return hp_keeps(fetched_io_items);
	case IO_VECTOR:
	case IO_VECTORS:
	case IO_GIVES:
		return hp_keeps(fetched_io_vectors);
	case IO_MESSAGE:
	case IO_MESSAGES:
		return hp_keeps(fetched_io_messages);
	case IO_AIO:
	case IO_AIOS:
		return hp_keeps(fetched_io_requests);
	case IO_ANY:
		return hp_keeps(fetched_io_any);
	case IO_SYSCALL:
		return hp_keeps(fetched_io_syscall);
	default:
		return hp_keeps(fetched_io_all);
	}
}

static void join_for(const struct io_fact *fact, const uint64_t *of)
{
	const void *first = (const void *)of[fact->a];
	size_t bytes;

	if (!keeps((enum io_kind)fact->kind))
		return;
	switch ((enum io_kind)fact->kind) {
	case IO_BYTES:
		protect_join_range(first, of[fact->b]);
		break;
	case IO_ITEMS:
		if (__builtin_mul_overflow(of[fact->b], of[fact->c], &bytes))
			bytes = SIZE_MAX;
		protect_join_range(first, bytes);
		break;
	case IO_VECTORS:
		join_vector((const struct iovec *)of[fact->c], of[fact->c + 1]);
		join_vector(first, of[fact->b]);
		break;
	case IO_VECTOR:
	case IO_GIVES:
		join_vector(first, of[fact->b]);
		break;
	case IO_MESSAGE:
		join_message(first);
		break;
	case IO_MESSAGES:
		join_messages(first, of[fact->b]);
		break;
	case IO_AIO:
		join_aio(first);
		break;
	case IO_AIOS:
		join_aios((struct aiocb *const *)first, of[fact->b]);
		break;
	case IO_ANY:
		join_any(of, 6);
		break;
	case IO_ALL:
	case IO_IOCTL:
		protect_join_all();
		break;
	case IO_SYSCALL:
		join_syscall((long)of[0], of + 1);
		break;
	case IO_NOTHING:
		break;
	}
}

void *shim_io_enter(const struct shim_frame *frame)
{
	const struct io_fact *fact = &facts[frame->row];
	const void *caller = (const void *)frame->return_address;
	void *next = shim_io_find((enum io_row)frame->row);

	/* The driver asks for nothing of the program's, and may hold what we would wait for. */
	if (shim_is_ours(caller) || is_drivers(caller))
		return next;
	if (ends_it(fact, frame->argument) && hp_keeps(fetched_given_away) && shim_active() &&
	    !real_driver_contains(caller)) {
		shim_fetch_stop("the program has its memory touched past us");
		protect_join_all();
	}
	if (protect_any())
		join_for(fact, frame->argument);
	return next;
}
