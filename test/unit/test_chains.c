/*
 * test_chains.c - which words on a stack are taken for return addresses.
 */
#include "trace/samples/chains.h"

#include "check.h"

#include <sys/mman.h>
#include <sys/uio.h>

TEST(what_a_call_looks_like)
{
	static const struct {
		uint8_t code[CHAINS_CODE_BYTES];
		bool call;
	} rows[] = {
		{ { 0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4 }, true },              /* call rel32 */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, true },  /* call *%rax */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd1 }, true },  /* call *%r9 */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8 }, true },     /* call *8(%rax) */
		{ { 0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 8 }, true },     /* call *8(%rsp) */
		{ { 0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4 }, true },              /* call *x(%rip) */
		{ { 0x90, 0xff, 0x94, 0x24, 1, 2, 3, 4 }, true },              /* call *x(%rsp) */
		{ { 0x90, 0x90, 0x90, 0xe9, 1, 2, 3, 4 }, false },             /* jmp rel32 */
		{ { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0 }, false }, /* jmp *%rax */
		{ { 0 }, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(chains_ends_with_call(rows[i].code), rows[i].call);
}

/* Filters of containers may refuse the call that reads code. */
static void need_code(void)
{
	char from = 1, to = 0;
	struct iovec here = { &to, 1 }, there = { &from, 1 };

	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) != 1)
		CHECK_SKIP("process_vm_readv is not permitted");
}

static struct module_place places[4];
static size_t believed;

__attribute__((noinline)) static void called(uint64_t second, uint64_t third)
{
	const uint64_t chain[] = { (uintptr_t)called + 4,
				   second != 0 ? second : (uintptr_t)__builtin_return_address(0),
				   third };

	believed = chains_resolve(chain, 3, places);
}

TEST(a_return_address_is_a_caller)
{
	char path[256];
	struct module module;

	need_code();
	chains_turn(true);
	called(0, 8);
	CHECK_EQ(believed, 2);
	CHECK(places[0].module != MODULES_NOWHERE && places[0].module == places[1].module);
	modules_read(places[0].module, &module);
	CHECK_EQ(module.bias + places[0].offset, (uintptr_t)called + 4);
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
	path[length > 0 ? length : 0] = '\0';
	CHECK(strcmp(module.path, path) == 0);
}

/* A function without a call before it, in any layout that the compiler chooses. */
__asm__(".pushsection .text\n"
	".skip 16, 0x90\n"
	".globl behind_no_call\n"
	"behind_no_call:\n"
	"ret\n"
	".popsection\n");
extern const char behind_no_call[];

TEST(other_words_are_not)
{
	uint8_t *page =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static uint64_t data[8];

	need_code();
	chains_turn(true);
	/*
	 * Data, the start of a function, small numbers, an unmapped address, and half an address.
	 */
	called((uintptr_t)&data[4], 0);
	CHECK_EQ(believed, 1);
	called((uintptr_t)behind_no_call, 0);
	CHECK_EQ(believed, 1);
	called(7, 0);
	CHECK_EQ(believed, 1);
	CHECK(munmap(page + 4096, 4096) == 0);
	called((uintptr_t)page + 4100, 0);
	CHECK_EQ(believed, 1);
	called(UINT64_MAX - 2, 0);
	CHECK_EQ(believed, 1);
	/* Generated code is in no file. */
	page[99] = 0xe8;
	called((uintptr_t)page + 104, 0);
	CHECK_EQ(believed, 2);
	CHECK_EQ(places[1].module, MODULES_NOWHERE);
	CHECK_EQ(places[1].offset, (uintptr_t)page + 104);
	/* If another file is there by now, the code is checked again. */
	memset(page, 0, 4096);
	chains_turn(true);
	called((uintptr_t)page + 104, 0);
	CHECK_EQ(believed, 1);
}

/* Called from one place, so that the return address is the same each time. */
__attribute__((noinline)) static size_t believed_if(bool code_is_read)
{
	chains_turn(code_is_read);
	called(0, 8);
	return believed;
}

/*
 * Under a filter that may end the process: known addresses stay valid, and nothing else is
 * believed.
 */
TEST(code_is_not_read)
{
	need_code();
	CHECK_EQ(believed_if(false), 1);
	CHECK_EQ(believed_if(true), 2);
	CHECK_EQ(believed_if(true), 2);
	CHECK_EQ(believed_if(false), 2);
}

CHECK_MAIN()
