/*
 * start.c - the constructor: reads options and stores pointers; with a profile, starts sampling.
 *
 * The constructor runs in every process that inherits LD_PRELOAD.
 */
#define _GNU_SOURCE
#include "shim/load/start.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/options.h"
#include "base/parse.h"
#include "engine/state.h"
#include "shim/libc/first.h"
#include "shim/libc/large.h"
#include "shim/load/exit.h"
#include "shim/load/fork.h"
#include "trace/out/process.h"
#include "trace/trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define SECTIONS_MOST 64
#define NAMES_MOST    4096

uint64_t shim_began_ns;
static _Atomic bool started;

/*
 * Returns the program's environment.  If it has HOTPIN=0, or the program runs with raised
 * privileges, returns HOTPIN=0 alone, so that no other entry is read or warned about.  So it does
 * if libc has not set `environ` yet: an executable's .preinit_array runs before libc's initializer,
 * and uses the driver.
 */
static char *const *environment_of_options(void)
{
	static char *const off[] = { (char *)"HOTPIN=0", NULL };

	if (getauxval(AT_SECURE) != 0 || environ == NULL)
		return off;
	for (char **entry = environ; *entry != NULL; entry++)
		if (strcmp(*entry, off[0]) == 0)
			return off;
	return environ;
}

static bool wanted_here(void)
{
	if (!hp_options->enable)
		return false;
	return hp_options->only[0] == '\0' ||
	       fnmatch(hp_options->only, program_invocation_short_name, 0) == 0;
}

static void open_log(void)
{
	char path[HP_TEXT_MAX];
	struct process process;
	int error = -ENAMETOOLONG;

	/* Most processes take this way, which looks nothing up. */
	if (hp_options->log_file[0] == '\0') {
		hp_log_open(NULL);
		return;
	}
	process_read(&process);
	if (process_expand(&process, hp_options->log_file, path, sizeof(path)) == 0)
		error = hp_log_open(path);
	if (error == 0)
		return;
	hp_log_open(NULL);
	errno = -error;
	hp_warn("HOTPIN_LOG_FILE: cannot open '%s' (%m), so messages go to stderr; name a file "
		"that can be written",
		hp_options->log_file);
}

/*
 * The first stage of a port uses no device, and has a profile too.  This handler is registered
 * before the program's, so it runs after them and after destructors, which do not know the status.
 */
static void report_without_device(int status, void *unused)
{
	(void)unused;
	if (atomic_load(&state_device_found) || !trace_begun())
		return;
	trace_exits_with(status);
	exit_report();
}

/* The loader has finished: a thread may start. */
static void start_profile(void)
{
	if (!atomic_load(&state_active))
		return;
	trace_begin(shim_began_ns, exit_with_program);
	if (!trace_begun())
		return;
	exit_prepare();
	on_exit(report_without_device, NULL);
}

static bool holds_kernels(const char *name)
{
	return strcmp(name, ".nv_fatbin") == 0 || strcmp(name, ".nvFatBinSegment") == 0 ||
	       strcmp(name, "__nv_relfatbin") == 0;
}

static bool has_kernels(int fd)
{
	Elf64_Ehdr head;
	Elf64_Shdr sections[SECTIONS_MOST];
	char names[NAMES_MOST];

	if (pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_shentsize != sizeof(sections[0]) || head.e_shnum > SECTIONS_MOST ||
	    head.e_shstrndx >= head.e_shnum)
		return false;

	ssize_t bytes = (ssize_t)(head.e_shnum * sizeof(sections[0]));
	if (pread(fd, sections, (size_t)bytes, (off_t)head.e_shoff) != bytes)
		return false;

	const Elf64_Shdr *strings = &sections[head.e_shstrndx];
	size_t room = strings->sh_size < NAMES_MOST - 1 ? strings->sh_size : NAMES_MOST - 1;
	if (pread(fd, names, room, (off_t)strings->sh_offset) != (ssize_t)room)
		return false;
	names[room] = '\0';
	for (int i = 0; i < head.e_shnum; i++)
		if (sections[i].sh_name < room && holds_kernels(names + sections[i].sh_name))
			return true;
	return false;
}

static int is_cuda_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash != NULL ? slash + 1 : info->dlpi_name;

	(void)size;
	(void)arg;
	return strncmp(name, "libcuda.so", 10) == 0 || strncmp(name, "libcudart.so", 12) == 0;
}

/*
 * True if the executable holds kernels, or if libcudart or libcuda is loaded.  False if it is not
 * known yet: an interpreter may load CUDA later.  Takes about 20 us.
 *
 * Only blocks of the heap can be pinned, and most programs fill their arrays before they use CUDA.
 * nvcc puts kernels into sections of their own, so the section table of the executable is read.  If
 * anything in it is wrong, the answer is no.
 */
static bool program_uses_cuda(void)
{
	if (dl_iterate_phdr(is_cuda_library, NULL) != 0)
		return true;

	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool found = has_kernels(fd);
	close(fd);
	return found;
}

static void start_here(void)
{
	if (!shim_watch_forks()) {
		hp_warn("cannot register handlers of fork(), so every call is passed through");
		return;
	}
	atomic_store(&state_active, true);
	atomic_store(&state_process, getpid());
	bool uses_cuda = program_uses_cuda();
	shim_large_start();
	if (uses_cuda)
		shim_large_with_device();
}

void shim_start(void)
{
	int saved = errno;

	if (atomic_exchange(&started, true))
		return;
	shim_began_ns = hp_now_ns();
	hp_options_load(environment_of_options());
	open_log();
	if (wanted_here())
		start_here();
	errno = saved;
}

__attribute__((constructor)) static void on_load(void)
{
	shim_start();
	/* _exit() may be called from a signal handler, where nothing can be looked up. */
	shim_libc_find();
	start_profile();
}
