/*
 * test_program.c - facts that the tools read from program files, valid and hostile ones.
 *
 * The mutations matter under AddressSanitizer and UBSan; without them only a crash or a hang would
 * be noticed.
 */
#include "launch/program.h"
#include "check.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <sys/stat.h>

static char path[PATH_MAX];

static void put(const char *name, const void *bytes, size_t count, mode_t mode)
{
	snprintf(path, sizeof(path), "%s", check_path(name));

	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
	CHECK(write(file, bytes, count) == (ssize_t)count);
	fchmod(file, mode);
	close(file);
}

static unsigned char *slurp(const char *name, size_t *ret_size)
{
	int file = open(name, O_RDONLY);
	struct stat status;

	fstat(file, &status);
	unsigned char *bytes = malloc((size_t)status.st_size);
	*ret_size = (size_t)read(file, bytes, (size_t)status.st_size);
	close(file);
	return bytes;
}

TEST(a_dynamic_program)
{
	struct program program;

	CHECK_EQ(program_inspect("/proc/self/exe", &program), 0);
	CHECK_EQ(program.kind, PROGRAM_ELF);
	CHECK(program.dynamic && !program.library && !program.damaged && !program.own_malloc);
	CHECK(strstr(program.interpreter, "ld-linux") != NULL);
	CHECK(!program.needs_cudart && !program.needs_driver && !program.device_code);
	CHECK_EQ(program.bits, 64);
}

TEST(a_library)
{
	struct program program;

	CHECK_EQ(program_inspect("/lib/x86_64-linux-gnu/libm.so.6", &program), 0);
	CHECK(program.kind == PROGRAM_ELF && program.library && !program.dynamic);
}

/* The linker's -static-pie: position independent, with a dynamic section, but without a loader. */
TEST(a_static_program_is_no_library)
{
	size_t size;
	unsigned char *image = slurp("/proc/self/exe", &size);
	Elf64_Ehdr *header = (Elf64_Ehdr *)image;
	Elf64_Phdr *segment = (Elf64_Phdr *)(image + header->e_phoff);
	struct program program;

	for (int i = 0; i < header->e_phnum; i++)
		if (segment[i].p_type == PT_INTERP)
			segment[i].p_type = PT_NULL;
	put("static", image, size, 0755);
	CHECK_EQ(program_inspect(path, &program), 0);
	CHECK(!program.library && !program.dynamic && !program.damaged);
	free(image);
}

TEST(scripts)
{
	struct program program;

	put("script", "#! /usr/bin/env python3\r\nprint()\n", 34, 0755);
	CHECK_EQ(program_inspect(path, &program), 0);
	CHECK_EQ(program.kind, PROGRAM_SCRIPT);
	CHECK(strcmp(program.interpreter, "/usr/bin/env python3") == 0);

	char giant[1000];
	memset(giant, 'x', sizeof(giant));
	memcpy(giant, "#!", 2);
	put("script", giant, sizeof(giant), 0755);
	CHECK(program_inspect(path, &program) == 0 && program.kind == PROGRAM_SCRIPT);
	CHECK_EQ(strlen(program.interpreter), sizeof(program.interpreter) - 1);

	put("script", "#!", 2, 0755);
	CHECK(program_inspect(path, &program) == 0 && program.kind == PROGRAM_SCRIPT);
	CHECK(program.interpreter[0] == '\0');
}

TEST(neither_nor)
{
	struct program program;

	put("data", "", 0, 0755);
	CHECK(program_inspect(path, &program) == 0 && program.kind == PROGRAM_OTHER);
	put("data", "#", 1, 0755);
	CHECK(program_inspect(path, &program) == 0 && program.kind == PROGRAM_OTHER);
	put("data", "\177ELF", 4, 0755);
	CHECK(program_inspect(path, &program) == 0 && program.kind == PROGRAM_OTHER);
	CHECK_EQ(program_inspect("/proc/none", &program), -ENOENT);
	CHECK_EQ(program_inspect("/", &program), -EINVAL);
	CHECK_EQ(program_inspect("/dev/zero", &program), -EINVAL);
}

TEST(other_machines)
{
	size_t size;
	unsigned char *image = slurp("/proc/self/exe", &size);
	struct program program;

	((Elf64_Ehdr *)image)->e_machine = EM_RISCV;
	put("foreign", image, size, 0755);
	CHECK(program_inspect(path, &program) == 0 && program.kind == PROGRAM_FOREIGN);
	CHECK(strcmp(program_machine_name(program.machine), "riscv") == 0 && program.bits == 64);
	image[EI_CLASS] = ELFCLASS32;
	put("foreign", image, size, 0755);
	CHECK(program_inspect(path, &program) == 0 && program.kind == PROGRAM_FOREIGN);
	CHECK_EQ(program.bits, 32);
	free(image);
}

TEST(rights_of_its_own)
{
	struct program program;

	put("setuid", "#!/bin/sh\n", 10, 0755);
	CHECK(program_inspect(path, &program) == 0 && !program.privileged);
	/* As root: setuid changes nothing for root's own files; with another owner it does. */
	if (getuid() == 0 && chown(path, 12345, 12345) == 0 && chmod(path, 04755) == 0)
		CHECK(program_inspect(path, &program) == 0 && program.privileged);
	if (getuid() == 0 && chmod(path, 02755) == 0)
		CHECK(program_inspect(path, &program) == 0 && program.privileged);
}

TEST(finds_as_exec_does)
{
	char found[PATH_MAX];

	put("tool", "#!/bin/sh\n", 10, 0755);
	CHECK(setenv("PATH", "/proc/none:/tmp", 1) == 0);
	CHECK_EQ(program_find("tool", found, sizeof(found)), -ENOENT);
	setenv("PATH", check_folder(), 1);
	CHECK(program_find("tool", found, sizeof(found)) == 0 && strcmp(found, path) == 0);
	CHECK(program_find(path, found, sizeof(found)) == 0 && strcmp(found, path) == 0);
	CHECK_EQ(program_find("./tool", found, sizeof(found)), -ENOENT);
	CHECK_EQ(program_find("", found, sizeof(found)), -ENOENT);
	CHECK_EQ(program_find(check_folder(), found, sizeof(found)), -EACCES);
	chmod(path, 0644);
	CHECK_EQ(program_find("tool", found, sizeof(found)), -EACCES);
	CHECK(strcmp(found, path) == 0);

	/* An empty part of PATH is the current folder. */
	chmod(path, 0755);
	CHECK(chdir(check_folder()) == 0);
	setenv("PATH", "/proc/none:", 1);
	CHECK_EQ(program_find("tool", found, sizeof(found)), 0);
	unsetenv("PATH");
	CHECK_EQ(program_find("sh", found, sizeof(found)), 0);
}

TEST(every_cut_is_survived)
{
	size_t size;
	unsigned char *image = slurp("/bin/true", &size);
	struct program program;

	for (size_t length = 0; length < size; length += length < 1024 ? 7 : 331) {
		put("cut", image, length, 0755);
		if (!CHECK_EQ(program_inspect(path, &program), 0))
			break;
		if (length >= sizeof(Elf64_Ehdr) && !CHECK(program.damaged))
			printf("# cut at %zu of %zu\n", length, size);
	}
	free(image);
}

/* Chooses a byte of the tables that locate others: the ELF header, segments, dynamic, sections. */
static size_t pick(unsigned *seed, const Elf64_Ehdr *header, size_t size)
{
	size_t sections = header->e_shnum * sizeof(Elf64_Shdr);

	switch (rand_r(seed) % 4) {
	case 0:
		return (size_t)rand_r(seed) % sizeof(Elf64_Ehdr);
	case 1:
		return sizeof(Elf64_Ehdr) +
		       (size_t)rand_r(seed) % (header->e_phnum * sizeof(Elf64_Phdr));
	case 2:
		return header->e_shoff + (size_t)rand_r(seed) % sections;
	default:
		return (size_t)rand_r(seed) % size;
	}
}

TEST(every_mutation_is_survived)
{
	static const unsigned char nasty[] = { 0, 1, 0x7f, 0x80, 0xff };
	const char *rounds_text = getenv("MUTATIONS");
	int rounds = rounds_text != NULL ? atoi(rounds_text) : 3000;
	size_t size;
	unsigned char *sound = slurp("/bin/true", &size), *image = malloc(size);
	Elf64_Ehdr header;

	memcpy(&header, sound, sizeof(header));
	for (int round = 0; round < rounds; round++) {
		unsigned seed = (unsigned)round;
		struct program program;

		memcpy(image, sound, size);
		for (int i = rand_r(&seed) % 8; i >= 0; i--) {
			size_t at = pick(&seed, &header, size);

			image[at] = rand_r(&seed) % 2 ? (unsigned char)rand_r(&seed)
						      : nasty[rand_r(&seed) % sizeof(nasty)];
		}
		put("mutant", image, size, 0755);
		if (!CHECK_EQ(program_inspect(path, &program), 0)) {
			printf("# round %d\n", round);
			break;
		}
		CHECK(program.kind < PROGRAM_KIND_COUNT);
		CHECK(memchr(program.interpreter, 0, sizeof(program.interpreter)) != NULL);
	}
	free(image);
	free(sound);
}

CHECK_MAIN()
