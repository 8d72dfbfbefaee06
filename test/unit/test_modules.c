/*
 * test_modules.c - files that the loader loads and unloads at the same addresses.
 */
#include "trace/places/frames.h"

#include "check.h"

#include <link.h>

/* The loaded files, instead of libc's answer. */
static struct loaded {
	const char *name; /* NULL: nothing */
	uintptr_t from;
} loaded[4];
static uint64_t unloads;

__attribute__((visibility("default"))) int dl_iterate_phdr(int (*each)(struct dl_phdr_info *,
								       size_t, void *),
							   void *arg)
{
	for (size_t i = 0; i < sizeof(loaded) / sizeof(loaded[0]); i++) {
		ElfW(Phdr) code = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = 4096 };
		struct dl_phdr_info info = { .dlpi_addr = loaded[i].from,
					     .dlpi_name = loaded[i].name,
					     .dlpi_phdr = &code,
					     .dlpi_phnum = 1,
					     .dlpi_subs = unloads };
		int result = loaded[i].name != NULL ? each(&info, sizeof(info), arg) : 0;

		if (result != 0)
			return result;
	}
	return 0;
}

static uintptr_t forgotten_from;
static int forgotten;

static void forget(uintptr_t from, uintptr_t to)
{
	CHECK_EQ(to, from + 4096);
	forgotten_from = from;
	forgotten++;
}

static uint32_t module_at(uintptr_t address)
{
	modules_note(address);
	return modules_find(address).module;
}

TEST(another_file_at_the_same_addresses)
{
	struct module module;

	loaded[0] = (struct loaded){ "/lib/stays.so", 0x10000 };
	loaded[1] = (struct loaded){ "/lib/first.so", 0x20000 };
	CHECK_EQ(module_at(0x10010), 0);
	CHECK_EQ(module_at(0x20010), 1);
	modules_turn(forget);
	CHECK_EQ(forgotten, 0);
	uint64_t before = modules_changes();

	loaded[1].name = "/lib/second.so";
	unloads++;
	modules_turn(forget);
	CHECK(forgotten == 1 && forgotten_from == 0x20000);
	CHECK(modules_changes() != before);
	CHECK_EQ(modules_find(0x20010).module, MODULES_NOWHERE);
	CHECK_EQ(module_at(0x20010), 2);
	CHECK_EQ(modules_find(0x20010).offset, 0x10);
	modules_read(2, &module);
	CHECK(strcmp(module.path, "/lib/second.so") == 0);
	/* The first one keeps its name, for addresses that were noted then. */
	modules_read(1, &module);
	CHECK(strcmp(module.path, "/lib/first.so") == 0);

	/* The same file again is no third one; an unloaded file without a successor has no name. */
	loaded[1].name = "/lib/first.so";
	unloads++;
	modules_turn(forget);
	CHECK_EQ(module_at(0x20010), 1);
	loaded[1].name = NULL;
	unloads++;
	modules_turn(forget);
	CHECK_EQ(module_at(0x20010), MODULES_NOWHERE);
	CHECK_EQ(forgotten, 3);
	CHECK_EQ(modules_count(), 3);
}

static __attribute__((noinline)) struct frames_way walked(void)
{
	struct frames_way way;

	frames_walk(__builtin_frame_address(0), &way);
	return way;
}

/* The caller's address is in no file, then in one, then in another one, then in the first again. */
TEST(ways_through_another_file_at_the_same_addresses)
{
	static const char *const names[] = { NULL, "/lib/one.so", "/lib/two.so", "/lib/one.so" };
	struct frames_way way[4] = { 0 };

	frames_start();
	for (int i = 0; i < 4; i++) {
		uintptr_t from = way[0].address[0] - 2048;

		if (i > 0) {
			loaded[0] = (struct loaded){ names[i], from };
			unloads++;
			modules_turn(frames_forget);
			frames_forget(from, from + 4096);
		}
		way[i] = walked();
		CHECK_EQ(way[i].address[0], way[0].address[0]);
	}
	CHECK(way[1].hash != way[0].hash && way[2].hash != way[1].hash);
	CHECK_EQ(way[3].hash, way[1].hash);
}

/* A plug-in that is loaded and unloaded repeatedly takes one place. */
TEST(one_file_again_and_again)
{
	loaded[1] = (struct loaded){ "/lib/stays.so", 0x10000 };
	for (int i = 0; i < 1000; i++) {
		loaded[0] = (struct loaded){ "/lib/plug.so", 0x30000 };
		CHECK_EQ(module_at(0x30010), 0);
		loaded[0].name = NULL;
		unloads++;
		modules_turn(forget);
	}
	CHECK_EQ(modules_count(), 1);
	CHECK_EQ(forgotten, 1000);
}

/* A cut path would be the name of no file, so nothing in it would have a name. */
TEST(a_long_path)
{
	static char path[1000];
	struct module module;

	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	loaded[0] = (struct loaded){ path, 0x10000 };
	CHECK_EQ(module_at(0x10010), 0);
	modules_read(0, &module);
	CHECK(strcmp(module.path, path) == 0);
}

CHECK_MAIN()
