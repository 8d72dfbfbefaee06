/*
 * fault.c - makes any call of libhotpin.so fail, selected by its place in the library.
 *
 * It is preloaded after the library.  The library's libc imports are bound to the stubs of
 * entry.S.  dlsym() returns stubs for functions of the driver and of CUPTI.  System calls by
 * instructions in the library arrive here by a seccomp filter, which checks the address of the
 * instruction.  No debugger traces the process, because the library would notice.
 *
 * FAULT_TABLE  the file of places, see fault.h
 * FAULT_AT     key:from:to  the calls `from` to `to` at that place fail
 *
 * This code runs before every constructor, inside malloc() and in signal handlers, so it calls
 * nothing by name.
 */
#define _GNU_SOURCE
#include "fault.h"
#include "bare.h"
#include "shim/driver/frame.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum kind { MINUS, ERROR, NOTHING, LATE };

static const struct fact {
	const char *name;
	enum kind kind;
	int error;
} facts[] = {
#define CALL(name, kind, error) { #name, kind, error },
#include "calls.def"
	{ "dlsym", NOTHING, 0 },
};

static const char *const driver_names[] = {
#define DRIVER(name, ...) #name,
#define WRAPPED           DRIVER
#define EXPOSES           DRIVER
#include "real/driver.def"
#define CUPTI(name) #name,
#include "cupti.def"
};

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define CALLS      ((unsigned)LEN(facts)) /* the last is dlsym() */
#define DRIVERS    ((unsigned)LEN(driver_names))

/* For a call that must fail: `row` is its number, from 1 on, and `other` its result. */
void *fault_enter(struct shim_frame *frame);
void fault_dlsym(void);
extern const char fault_driver_stubs[];

static void *libc[LEN(facts)];
static void *_Atomic driver[LEN(driver_names)];
static uintptr_t ours_from, ours_to; /* text of libhotpin.so, and its start */
static uintptr_t ours_base;
static struct fault_place *table;
static uint64_t fail_key, fail_from, fail_to;
static _Atomic uint64_t fail_seen;
static _Atomic int ready;

static __thread const char *calling __attribute__((tls_model("initial-exec")));

static bool same(const char *a, const char *b)
{
	for (; *a == *b; a++, b++)
		if (*a == '\0')
			return true;
	return false;
}

static bool starts(const char *text, const char *head)
{
	while (*head != '\0' && *text == *head)
		text++, head++;
	return *head == '\0';
}

static const char *tail_of(const char *path)
{
	const char *tail = path;

	for (; *path != '\0'; path++)
		if (*path == '/')
			tail = path + 1;
	return tail;
}

/*
 * Finds the default version of each function in libc, without a look-up that could be intercepted.
 */
static void look_into_libc(const struct dl_phdr_info *object)
{
	const ElfW(Dyn) *dynamic = NULL;
	const ElfW(Sym) *symbols = NULL;
	const ElfW(Half) *versions = NULL;
	const char *strings = NULL;

	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(object->dlpi_addr +
						      object->dlpi_phdr[i].p_vaddr);
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)dynamic->d_un.d_ptr;
		if (dynamic->d_tag == DT_STRTAB)
			strings = (const char *)dynamic->d_un.d_ptr;
		if (dynamic->d_tag == DT_VERSYM)
			versions = (const ElfW(Half) *)dynamic->d_un.d_ptr;
	}
	/* In every libc.so.6 the strings follow the symbols. */
	for (size_t i = 1; (const char *)&symbols[i] < strings; i++)
		for (unsigned call = 0; call < CALLS && (versions[i] & 0x8000) == 0; call++)
			if (symbols[i].st_value != 0 &&
			    same(strings + symbols[i].st_name, facts[call].name))
				libc[call] = (void *)(object->dlpi_addr + symbols[i].st_value);
}

static int look_at(struct dl_phdr_info *object, size_t size, void *arg)
{
	(void)size, (void)arg;
	if (same(tail_of(object->dlpi_name), "libc.so.6"))
		look_into_libc(object);
	if (!starts(tail_of(object->dlpi_name), "libhotpin.so"))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];

		if (part->p_type != PT_LOAD || !(part->p_flags & PF_X))
			continue;
		ours_base = object->dlpi_addr;
		ours_from = object->dlpi_addr + part->p_vaddr;
		ours_to = ours_from + part->p_memsz;
	}
	return 0;
}

static uint64_t number_in(const char **text)
{
	uint64_t number = 0;

	for (; **text >= '0' && **text <= '9'; ++*text)
		number = number * 10 + (uint64_t)(**text - '0');
	if (**text == ':')
		++*text;
	return number;
}

static const char *setting(const char *name)
{
	extern char **environ;

	for (char **entry = environ; environ != NULL && *entry != NULL; entry++) {
		size_t i = 0;

		while (name[i] != '\0' && (*entry)[i] == name[i])
			i++;
		if (name[i] == '\0' && (*entry)[i] == '=')
			return *entry + i + 1;
	}
	return NULL;
}

/* Counts a call at the place.  True if it must fail. */
static bool is_due(uint64_t key, const char *name)
{
	for (size_t i = key * 0x9e3779b97f4a7c15u >> 52; table != NULL;
	     i = (i + 1) % FAULT_PLACES) {
		uint64_t found = 0;

		if (atomic_compare_exchange_strong(&table[i].key, &found, key))
			for (size_t c = 0; name[c] != '\0' && c < sizeof(table[i].name) - 1; c++)
				table[i].name[c] = name[c];
		if (found != 0 && found != key)
			continue;
		atomic_fetch_add(&table[i].calls, 1);
		break;
	}
	if (key != fail_key)
		return false;
	uint64_t seen = atomic_fetch_add(&fail_seen, 1) + 1;
	return seen >= fail_from && seen <= fail_to;
}

static bool is_ours(uintptr_t address)
{
	return address >= ours_from && address < ours_to;
}

static uint64_t key_of(uint64_t function, uint64_t number, uintptr_t address)
{
	return function << 48 | (number & 0xffff) << 32 | (uint32_t)(address - ours_base);
}

static int error_of(long number, long operation)
{
	switch (number) {
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_mremap:
	case SYS_mincore:
		return ENOMEM;
	case SYS_madvise:
		return EINVAL;
	case SYS_futex:
		return (operation & FUTEX_CMD_MASK) == FUTEX_WAKE ? 0 : EINTR;
	case SYS_nanosleep:
		return EINTR;
	case SYS_open:
	case SYS_openat:
		return EMFILE;
	case SYS_getdents64:
		return ENOENT;
	case SYS_perf_event_open:
		return EACCES;
	case SYS_timer_create:
		return EAGAIN;
	case SYS_read:
	case SYS_close:
		return EIO;
	case SYS_ioctl:
		return ENOTTY;
	case SYS_getpid:
	case SYS_gettid:
	case SYS_exit:
	case SYS_exit_group:
	case SYS_rt_sigprocmask:
		return 0;
	default:
		return EPERM;
	}
}

/* If SIGSYS were blocked where the filter raises it, the kernel would end the process. */
static long change_mask(ucontext_t *context, long how, const uint64_t *set, uint64_t *ret)
{
	uint64_t *mask = (uint64_t *)&context->uc_sigmask, before = *mask;

	if (set != NULL)
		*mask = (how == SIG_BLOCK     ? before | *set
			 : how == SIG_UNBLOCK ? before & ~*set
					      : *set) &
			~((uint64_t)1 << (SIGSYS - 1));
	if (ret != NULL)
		*ret = before;
	return 0;
}

static void on_call(int signal, siginfo_t *info, void *interrupted)
{
	ucontext_t *context = interrupted;
	greg_t *at = context->uc_mcontext.gregs;
	long number = info->si_syscall;
	uintptr_t place = (uintptr_t)info->si_call_addr;

	(void)signal;
	int error = error_of(number, at[REG_RSI]);
	if (error != 0 && is_due(key_of(0, (uint64_t)number, place), "syscall"))
		at[REG_RAX] = -error;
	else if (number == SYS_rt_sigprocmask)
		at[REG_RAX] = change_mask(context, at[REG_RDI], (const uint64_t *)at[REG_RSI],
					  (uint64_t *)at[REG_RDX]);
	else
		at[REG_RAX] = bare6(number, at[REG_RDI], at[REG_RSI], at[REG_RDX], at[REG_R10],
				    at[REG_R8], at[REG_R9]);
}

/* Traps system calls of the library's text, except those that a handler cannot make. */
static void watch_calls(void)
{
	struct {
		void *handler;
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { 0 };
	extern void fault_restore(void) __attribute__((visibility("hidden")));
	uint32_t low = (uint32_t)ours_from, high = (uint32_t)(ours_from >> 32);
	uint32_t end = (uint32_t)ours_to;
#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
	struct sock_filter filter[] = {
		FIELD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 7, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer) + 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 0, 5),
		FIELD(instruction_pointer),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low, 0, 3),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, end, 2, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
#undef FIELD
	struct sock_fprog program = { .len = LEN(filter), .filter = filter };

	action.handler = (void *)on_call;
	action.flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | 0x04000000; /* SA_RESTORER */
	action.restorer = fault_restore;
	bare6(SYS_rt_sigaction, SIGSYS, (long)&action, 0, 8, 0, 0);
	bare6(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0);
	bare6(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program, 0, 0, 0);
}

__asm__(".hidden fault_restore\n"
	".globl fault_restore\n"
	"fault_restore:\n"
	"	mov $15, %eax\n"
	"	syscall\n");

static void begin(void)
{
	int none = 0;
	const char *path = setting("FAULT_TABLE"), *at = setting("FAULT_AT");

	if (atomic_load(&ready) == 2 || !atomic_compare_exchange_strong(&ready, &none, 1))
		return;
	dl_iterate_phdr(look_at, NULL);
	long fd = path != NULL ? bare6(SYS_open, (long)path, O_RDWR | O_CLOEXEC, 0, 0, 0, 0) : -1;
	if (fd >= 0) {
		table = (struct fault_place *)bare6(SYS_mmap, 0,
						    FAULT_PLACES * sizeof(struct fault_place),
						    PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		bare6(SYS_close, fd, 0, 0, 0, 0, 0);
	}
	if (at != NULL) {
		fail_key = number_in(&at);
		fail_from = number_in(&at);
		fail_to = number_in(&at);
	}
	if (ours_from != 0 && fd >= 0)
		watch_calls();
	atomic_store(&ready, 2);
}

__attribute__((constructor)) static void on_load(void)
{
	begin();
}

__attribute__((visibility("default"))) void fault_program_calls(const char *name)
{
	calling = name;
}

/*
 * True for the program's own call, whole or in pieces, on its way through the library.  The program
 * gets the driver's result of its function.
 */
static bool is_the_programs(const char *name)
{
	return calling != NULL && same(calling, name);
}

static void set_errno(int error)
{
	errno = error;
}

static void *fail_call(unsigned call, struct shim_frame *frame)
{
	const struct fact *fact = &facts[call];

	if (fact->kind == LATE)
		((long (*)(uintptr_t))libc[call])(frame->argument[0]);
	frame->other = fact->kind == ERROR     ? (uint64_t)fact->error
		       : fact->kind == NOTHING ? 0
					       : (uint64_t)-1;
	if (fact->kind != ERROR && fact->error != 0)
		set_errno(fact->error);
	return NULL;
}

/* There are as many functions as numbers. */
static void *enter_syscall(unsigned call, struct shim_frame *frame, uintptr_t caller)
{
	long number = (long)frame->argument[0];
	int error = error_of(number, (long)frame->argument[2]);

	if (error == 0 || !is_due(key_of(0, (uint64_t)number, caller), facts[call].name))
		return libc[call];
	set_errno(error);
	frame->other = (uint64_t)-1;
	return NULL;
}

static void *enter_driver(unsigned row, struct shim_frame *frame, uintptr_t caller)
{
	const char *name = driver_names[row];

	if (!is_ours(caller) || is_the_programs(name) ||
	    !is_due(key_of(CALLS + 1 + row, 0, caller), name))
		return driver[row];
	frame->other = 2; /* CUDA_ERROR_OUT_OF_MEMORY */
	return NULL;
}

/* Returns a stub for a function that the library would call; every caller gets the same. */
static void *stub_of(const char *name, void *real)
{
	for (unsigned row = 0; real != NULL && row < DRIVERS; row++)
		if (same(driver_names[row], name)) {
			atomic_store(&driver[row], real);
			return (void *)(fault_driver_stubs + 32 * row);
		}
	return real;
}

static void *enter_dlsym(struct shim_frame *frame, uintptr_t caller)
{
	void *(*look_up)(uintptr_t, const char *) =
		(void *(*)(uintptr_t, const char *))libc[CALLS - 1];
	const char *name = (const char *)frame->argument[1];

	/* RTLD_NEXT: the result depends on the caller. */
	if (name == NULL || name[0] != 'c' || name[1] != 'u' || frame->argument[0] == (uintptr_t)-1)
		return libc[CALLS - 1];
	/* Functions of libc and the driver are always found; CUPTI's depend on its version. */
	if (is_ours(caller) && name[2] == 'p' && is_due(key_of(CALLS, 0, caller), "dlsym"))
		return fail_call(CALLS - 1, frame);
	frame->other = (uint64_t)stub_of(name, look_up(frame->argument[0], name));
	return NULL;
}

void *fault_enter(struct shim_frame *frame)
{
	unsigned call = (unsigned)frame->row - 1;
	uintptr_t caller = frame->return_address;

	if (atomic_load(&ready) != 2)
		begin();
	if (call >= CALLS)
		return enter_driver(call - CALLS, frame, caller);
	if (call == CALLS - 1)
		return enter_dlsym(frame, caller);
	if (!is_ours(caller))
		return libc[call];
	if (same(facts[call].name, "syscall"))
		return enter_syscall(call, frame, caller);
	if (is_due(key_of(call + 1, 0, caller), facts[call].name))
		return fail_call(call, frame);
	if (same(facts[call].name, "dlvsym") && same((const char *)frame->argument[1], "dlsym")) {
		frame->other = (uint64_t)fault_dlsym;
		return NULL;
	}
	return libc[call];
}
