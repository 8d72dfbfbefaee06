/*
 * ptx.c - the text of the kernels, and their twins.
 *
 * globaltimer, not clock64: the time must not depend on the clock that the device happens to run
 * at.  PTX ISA, "Special Registers": its resolution is up to the device (about 1 us at worst here).
 */
#include "ptx.h"

#include "../standin/standin.h"

#include <dlfcn.h>
#include <string.h>

/* clang-format off */
#define MODULE ".version 6.0\n" ".target sm_50\n" ".address_size 64\n"
#define KERNEL(name, parameters) \
	".visible .entry test_" name "(" parameters ")\n" \
	"{\n" \
	"	.reg .u64 %begin, %now, %ns, %at, %to, %from, %bytes, %words, %key, %late;\n" \
	"	.reg .u64 %i, %step, %a, %b, %sum;\n" \
	"	.reg .u32 %thread, %threads, %block, %blocks, %word;\n" \
	"	.reg .pred %more;\n" \
	"	mov.u64 %begin, %globaltimer;\n"
#define END "	ret;\n" "}\n"
/* Runs until %ns have passed since the beginning. */
#define SPIN \
	"spin:\n" \
	"	mov.u64 %now, %globaltimer;\n" \
	"	sub.u64 %now, %now, %begin;\n" \
	"	setp.lt.u64 %more, %now, %ns;\n" \
	"	@%more bra spin;\n"
/* %i is the number of the thread, %step the number of threads. */
#define THREADS \
	"	mov.u32 %thread, %tid.x;\n" \
	"	mov.u32 %threads, %ntid.x;\n" \
	"	mov.u32 %block, %ctaid.x;\n" \
	"	mov.u32 %blocks, %nctaid.x;\n" \
	"	mad.lo.u32 %thread, %block, %threads, %thread;\n" \
	"	cvt.u64.u32 %i, %thread;\n" \
	"	mul.wide.u32 %step, %threads, %blocks;\n"
/* Divides the words among the threads: the body has %i, and %at is the offset of its word. */
#define EACH_WORD(body) \
	THREADS \
	"next:\n" \
	"	setp.ge.u64 %more, %i, %words;\n" \
	"	@%more bra done;\n" \
	"	shl.b64 %at, %i, 3;\n" \
	body \
	"	add.u64 %i, %i, %step;\n" \
	"	bra next;\n" \
	"done:\n"

const char ptx_image[] =
	MODULE
	KERNEL("nothing", "")
	END
	KERNEL("spin", ".param .u64 spin_ns")
	"	ld.param.u64 %ns, [spin_ns];\n"
	SPIN
	END
	KERNEL("work", ".param .u64 work_ns, .param .u64 work_at, .param .u32 work_number")
	"	ld.param.u64 %ns, [work_ns];\n"
	"	ld.param.u64 %at, [work_at];\n"
	"	ld.param.u32 %word, [work_number];\n"
	SPIN
	"	st.volatile.u32 [%at], %word;\n"
	"	membar.sys;\n"
	END
	KERNEL("move", ".param .u64 move_to, .param .u64 move_from")
	"	ld.param.u64 %to, [move_to];\n"
	"	ld.param.u64 %from, [move_from];\n"
	"	ld.volatile.u64 %a, [%from];\n"
	"	st.volatile.u64 [%to], %a;\n"
	END
	KERNEL("copy", ".param .u64 copy_to, .param .u64 copy_from, .param .u64 copy_bytes")
	"	ld.param.u64 %to, [copy_to];\n"
	"	ld.param.u64 %from, [copy_from];\n"
	"	ld.param.u64 %bytes, [copy_bytes];\n"
	THREADS
	"	shl.b64 %i, %i, 2;\n"
	"	shl.b64 %step, %step, 2;\n"
	"next:\n"
	"	setp.ge.u64 %more, %i, %bytes;\n"
	"	@%more bra done;\n"
	"	add.u64 %at, %from, %i;\n"
	"	ld.volatile.u32 %word, [%at];\n"
	"	add.u64 %at, %to, %i;\n"
	"	st.u32 [%at], %word;\n"
	"	add.u64 %i, %i, %step;\n"
	"	bra next;\n"
	"done:\n"
	END
	KERNEL("await", ".param .u64 await_at, .param .u64 await_late")
	"	ld.param.u64 %at, [await_at];\n"
	"	ld.param.u64 %late, [await_late];\n"
	"again:\n"
	"	ld.volatile.u32 %word, [%at];\n"
	"	setp.ne.u32 %more, %word, 0;\n"
	"	@%more bra done;\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %now, %now, %begin;\n"
	"	setp.lt.u64 %more, %now, 2000000000;\n"
	"	@%more bra again;\n"
	"	mov.u32 %word, 1;\n"
	"	st.volatile.u32 [%late], %word;\n"
	"done:\n"
	END
	KERNEL("trap", "")
	"	trap;\n"
	"}\n"
	/* at[i] = (at[i] ^ (key + i)) * an odd number */
	KERNEL("xor", ".param .u64 xor_at, .param .u64 xor_words, .param .u64 xor_key, .param .u64 xor_ns")
	"	ld.param.u64 %to, [xor_at];\n"
	"	ld.param.u64 %words, [xor_words];\n"
	"	ld.param.u64 %key, [xor_key];\n"
	"	ld.param.u64 %ns, [xor_ns];\n"
	SPIN
	"	cvta.to.global.u64 %to, %to;\n"
	EACH_WORD(
	"	add.u64 %at, %at, %to;\n"
	"	ld.global.u64 %a, [%at];\n"
	"	add.u64 %b, %key, %i;\n"
	"	xor.b64 %a, %a, %b;\n"
	"	mul.lo.u64 %a, %a, 0x9e3779b97f4a7c15;\n"
	"	st.global.u64 [%at], %a;\n")
	END
	/* out[i] = out[i] * 3 + in[i] */
	KERNEL("mix", ".param .u64 mix_out, .param .u64 mix_in, .param .u64 mix_words, .param .u64 mix_ns")
	"	ld.param.u64 %to, [mix_out];\n"
	"	ld.param.u64 %from, [mix_in];\n"
	"	ld.param.u64 %words, [mix_words];\n"
	"	ld.param.u64 %ns, [mix_ns];\n"
	SPIN
	"	cvta.to.global.u64 %to, %to;\n"
	"	cvta.to.global.u64 %from, %from;\n"
	EACH_WORD(
	"	add.u64 %now, %at, %from;\n"
	"	add.u64 %at, %at, %to;\n"
	"	ld.global.u64 %a, [%at];\n"
	"	ld.global.u64 %b, [%now];\n"
	"	mad.lo.u64 %a, %a, 3, %b;\n"
	"	st.global.u64 [%at], %a;\n")
	END
	KERNEL("consume", ".param .u64 consume_in, .param .u64 consume_words, .param .u64 consume_out, "
			  ".param .u64 consume_ns")
	"	ld.param.u64 %from, [consume_in];\n"
	"	ld.param.u64 %words, [consume_words];\n"
	"	ld.param.u64 %to, [consume_out];\n"
	"	ld.param.u64 %ns, [consume_ns];\n"
	"	cvta.to.global.u64 %from, %from;\n"
	"	cvta.to.global.u64 %to, %to;\n"
	"	mov.u64 %sum, 0;\n"
	EACH_WORD(
	"	add.u64 %at, %at, %from;\n"
	"	ld.global.u64 %a, [%at];\n"
	"	xor.b64 %sum, %sum, %a;\n")
	"	red.global.xor.b64 [%to], %sum;\n"
	SPIN
	END
	KERNEL("weigh", ".param .u64 weigh_in, .param .u64 weigh_words, .param .u64 weigh_out")
	"	ld.param.u64 %from, [weigh_in];\n"
	"	ld.param.u64 %words, [weigh_words];\n"
	"	ld.param.u64 %to, [weigh_out];\n"
	"	cvta.to.global.u64 %from, %from;\n"
	"	cvta.to.global.u64 %to, %to;\n"
	"	mov.u64 %sum, 0;\n"
	EACH_WORD(
	"	add.u64 %at, %at, %from;\n"
	"	ld.global.u64 %a, [%at];\n"
	"	shl.b64 %b, %i, 1;\n"
	"	add.u64 %b, %b, 1;\n"
	"	mul.lo.u64 %a, %a, %b;\n"
	"	add.u64 %sum, %sum, %a;\n")
	"	red.global.add.u64 [%to], %sum;\n"
	END;

const char ptx_saying[] =
	MODULE
	".extern .func (.param .b32 printed) vprintf(.param .b64 format, .param .b64 arguments);\n"
	".global .align 1 .b8 text[8] = { 107, 101, 114, 110, 101, 108, 10, 0 };\n"
	KERNEL("say", ".param .u64 say_ns, .param .u64 say_aloud")
	"	ld.param.u64 %ns, [say_ns];\n"
	SPIN
	"	ld.param.u64 %a, [say_aloud];\n"
	"	setp.eq.u64 %more, %a, 0;\n"
	"	@%more bra done;\n"
	"	mov.u64 %at, text;\n"
	"	cvta.global.u64 %at, %at;\n"
	"	mov.u64 %a, 0;\n"
	"	{\n"
	"	.param .b64 format;\n"
	"	st.param.b64 [format], %at;\n"
	"	.param .b64 arguments;\n"
	"	st.param.b64 [arguments], %a;\n"
	"	.param .b32 printed;\n"
	"	call.uni (printed), vprintf, (format, arguments);\n"
	"	ld.param.b32 %word, [printed];\n"
	"	}\n"
	"done:\n"
	END;
/* clang-format on */

bool (*ptx_await)(const volatile uint32_t *at);

/* Constant after they were found, before the first kernel. */
static __typeof__(standin_twin_ns) *took;
static __typeof__(standin_twin_fault) *fault;
static __typeof__(standin_host) *where;

void ptx_find_stand_in(void *driver)
{
	took = (__typeof__(took))dlsym(driver, "standin_twin_ns");
	fault = (__typeof__(fault))dlsym(driver, "standin_twin_fault");
	where = (__typeof__(where))dlsym(driver, "standin_host");
}

/* The name of a twin, and the bytes of each parameter. */
#define TWIN(name, ...)                                                                \
	extern STANDIN_EXPORT const unsigned standin_args_test_##name[];               \
	const unsigned standin_args_test_##name[] = { __VA_ARGS__ };                   \
	STANDIN_EXPORT standin_twin_fn standin_twin_test_##name;                       \
	void standin_twin_test_##name(const unsigned grid[3] __attribute__((unused)),  \
				      const unsigned block[3] __attribute__((unused)), \
				      void **args __attribute__((unused)))

static uint64_t number(const void *arg)
{
	return *(const uint64_t *)arg;
}

/* Memory that the stand-in does not know is host memory, which a device may read as well. */
static void *memory(const void *arg)
{
	void *host = where(number(arg));

	return host != NULL ? host : (void *)number(arg);
}

TWIN(nothing, 0)
{
}

TWIN(spin, 8, 0)
{
	took(number(args[0]));
}

TWIN(work, 8, 8, 4, 0)
{
	took(number(args[0]));
	/* A kernel of another stream may wait for the word. */
	__atomic_store_n((uint32_t *)memory(args[1]), *(const uint32_t *)args[2], __ATOMIC_RELAXED);
}

TWIN(move, 8, 8, 0)
{
	memcpy(memory(args[0]), memory(args[1]), 8);
}

TWIN(copy, 8, 8, 8, 0)
{
	memcpy(memory(args[0]), memory(args[1]), number(args[2]));
}

TWIN(await, 8, 8, 0)
{
	if (ptx_await == NULL || !ptx_await(memory(args[0])))
		*(uint32_t *)memory(args[1]) = 1;
}

TWIN(trap, 0)
{
	fault(CUDA_ERROR_LAUNCH_FAILED);
}

TWIN(xor, 8, 8, 8, 8, 0)
{
	uint64_t *at = memory(args[0]), words = number(args[1]), key = number(args[2]);

	for (uint64_t i = 0; i < words; i++)
		at[i] = (at[i] ^ (key + i)) * 0x9e3779b97f4a7c15ull;
	took(number(args[3]));
}

TWIN(mix, 8, 8, 8, 8, 0)
{
	const uint64_t *from = memory(args[1]);
	uint64_t *to = memory(args[0]), words = number(args[2]);

	for (uint64_t i = 0; i < words; i++)
		to[i] = to[i] * 3 + from[i];
	took(number(args[3]));
}

TWIN(consume, 8, 8, 8, 8, 0)
{
	const uint64_t *in = memory(args[0]);
	uint64_t words = number(args[1]), *out = memory(args[2]);

	for (uint64_t i = 0; i < words; i++)
		*out ^= in[i];
	took(number(args[3]));
}

TWIN(weigh, 8, 8, 8, 0)
{
	*(uint64_t *)memory(args[2]) += ptx_weight(memory(args[0]), 0, number(args[1]));
}

/* Counts as a kernel that can print, whether it prints or not. */
extern STANDIN_EXPORT const int standin_prints_test_say;
const int standin_prints_test_say = 1;

TWIN(say, 8, 8, 0)
{
	took(number(args[0]));
}
