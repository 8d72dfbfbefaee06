/*
 * kernels.c - PTX and host twins of the benchmarks' kernels.
 *
 * globaltimer, not clock64: the time must not depend on the clock that the device happens to run
 * at.  PTX ISA, "Special Registers": its resolution is up to the device (about 1 us at worst here).
 */
#include "kernels.h"

static const char image[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	".visible .entry bench_nothing() { ret; }\n"
	".visible .entry bench_spin(.param .u64 spin_ns)\n"
	"{\n"
	"	.reg .u64 %begin, %now, %ns;\n"
	"	.reg .pred %more;\n"
	"	mov.u64 %begin, %globaltimer;\n"
	"	ld.param.u64 %ns, [spin_ns];\n"
	"again:\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %now, %now, %begin;\n"
	"	setp.lt.u64 %more, %now, %ns;\n"
	"	@%more bra again;\n"
	"	ret;\n"
	"}\n"
	".visible .entry bench_consume(.param .u64 consume_in, .param .u64 consume_words,\n"
	"	.param .u64 consume_out, .param .u64 consume_ns)\n"
	"{\n"
	"	.reg .u64 %begin, %now, %ns, %in, %out, %words, %i, %step, %at, %word, %sum;\n"
	"	.reg .u32 %thread, %threads, %block, %blocks;\n"
	"	.reg .pred %more;\n"
	"	mov.u64 %begin, %globaltimer;\n"
	"	ld.param.u64 %in, [consume_in];\n"
	"	ld.param.u64 %words, [consume_words];\n"
	"	ld.param.u64 %out, [consume_out];\n"
	"	ld.param.u64 %ns, [consume_ns];\n"
	"	cvta.to.global.u64 %in, %in;\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	mov.u32 %threads, %ntid.x;\n"
	"	mov.u32 %block, %ctaid.x;\n"
	"	mov.u32 %blocks, %nctaid.x;\n"
	"	mad.lo.u32 %thread, %block, %threads, %thread;\n"
	"	cvt.u64.u32 %i, %thread;\n"
	"	mul.wide.u32 %step, %threads, %blocks;\n"
	"	mov.u64 %sum, 0;\n"
	"next:\n"
	"	setp.ge.u64 %more, %i, %words;\n"
	"	@%more bra fold;\n"
	"	shl.b64 %at, %i, 3;\n"
	"	add.u64 %at, %at, %in;\n"
	"	ld.global.u64 %word, [%at];\n"
	"	xor.b64 %sum, %sum, %word;\n"
	"	add.u64 %i, %i, %step;\n"
	"	bra next;\n"
	"fold:\n"
	"	red.global.xor.b64 [%out], %sum;\n"
	"again:\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %now, %now, %begin;\n"
	"	setp.lt.u64 %more, %now, %ns;\n"
	"	@%more bra again;\n"
	"	ret;\n"
	"}\n"
	".visible .entry bench_weigh(.param .u64 weigh_in, .param .u64 weigh_words,\n"
	"	.param .u64 weigh_out)\n"
	"{\n"
	"	.reg .u64 %in, %out, %words, %i, %step, %at, %word, %weight, %sum;\n"
	"	.reg .u32 %thread, %threads, %block, %blocks;\n"
	"	.reg .pred %more;\n"
	"	ld.param.u64 %in, [weigh_in];\n"
	"	ld.param.u64 %words, [weigh_words];\n"
	"	ld.param.u64 %out, [weigh_out];\n"
	"	cvta.to.global.u64 %in, %in;\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	mov.u32 %threads, %ntid.x;\n"
	"	mov.u32 %block, %ctaid.x;\n"
	"	mov.u32 %blocks, %nctaid.x;\n"
	"	mad.lo.u32 %thread, %block, %threads, %thread;\n"
	"	cvt.u64.u32 %i, %thread;\n"
	"	mul.wide.u32 %step, %threads, %blocks;\n"
	"	mov.u64 %sum, 0;\n"
	"next:\n"
	"	setp.ge.u64 %more, %i, %words;\n"
	"	@%more bra fold;\n"
	"	shl.b64 %at, %i, 3;\n"
	"	add.u64 %at, %at, %in;\n"
	"	ld.global.u64 %word, [%at];\n"
	"	shl.b64 %weight, %i, 1;\n"
	"	add.u64 %weight, %weight, 1;\n"
	"	mul.lo.u64 %word, %word, %weight;\n"
	"	add.u64 %sum, %sum, %word;\n"
	"	add.u64 %i, %i, %step;\n"
	"	bra next;\n"
	"fold:\n"
	"	red.global.add.u64 [%out], %sum;\n"
	"	ret;\n"
	"}\n";

void kernels_load(struct kernels *kernels)
{
	CUmodule module;

	CU_OK(CU(cuModuleLoadData)(&module, image));
	CU_OK(CU(cuModuleGetFunction)(&kernels->nothing, module, "bench_nothing"));
	CU_OK(CU(cuModuleGetFunction)(&kernels->spin, module, "bench_spin"));
	CU_OK(CU(cuModuleGetFunction)(&kernels->consume, module, "bench_consume"));
	CU_OK(CU(cuModuleGetFunction)(&kernels->weigh, module, "bench_weigh"));
	kernels->launch = CU(cuLaunchKernel);
}

void kernels_nothing(const struct kernels *kernels, CUstream stream)
{
	CU_OK(kernels->launch(kernels->nothing, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

void kernels_spin(const struct kernels *kernels, CUstream stream, uint64_t ns)
{
	void *arguments[] = { &ns };

	CU_OK(kernels->launch(kernels->spin, 1, 1, 1, 1, 1, 1, 0, stream, arguments, NULL));
}

void kernels_consume(const struct kernels *kernels, CUstream stream, CUdeviceptr in, uint64_t words,
		     CUdeviceptr out, uint64_t ns)
{
	void *arguments[] = { &in, &words, &out, &ns };

	CU_OK(kernels->launch(kernels->consume, 64, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
}

void kernels_weigh(const struct kernels *kernels, CUstream stream, CUdeviceptr in, uint64_t words,
		   CUdeviceptr out)
{
	void *arguments[] = { &in, &words, &out };

	CU_OK(kernels->launch(kernels->weigh, 512, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
}

/* What the stand-in driver runs instead, found by name; see its standin.h. */
#define TWIN(name)                                                             \
	__attribute__((visibility("default"))) void standin_twin_##name(       \
		const unsigned grid[3], const unsigned block[3], void **args); \
	void standin_twin_##name(const unsigned grid[3], const unsigned block[3], void **args)
#define TWIN_ARGS(name)                                                                     \
	extern __attribute__((visibility("default"))) const unsigned standin_args_##name[]; \
	const unsigned standin_args_##name[]

TWIN_ARGS(bench_nothing) = { 0 };
TWIN_ARGS(bench_spin) = { 8, 0 };
TWIN_ARGS(bench_consume) = { 8, 8, 8, 8, 0 };
TWIN_ARGS(bench_weigh) = { 8, 8, 8, 0 };

static void took(uint64_t ns)
{
	((void (*)(uint64_t))bench_find("standin_twin_ns"))(ns);
}

TWIN(bench_nothing)
{
	(void)grid;
	(void)block;
	(void)args;
}

TWIN(bench_spin)
{
	(void)grid;
	(void)block;
	took(*(uint64_t *)args[0]);
}

TWIN(bench_consume)
{
	void *(*host)(unsigned long long) =
		(void *(*)(unsigned long long))bench_find("standin_host");
	const uint64_t *in = host(*(uint64_t *)args[0]);
	uint64_t words = *(uint64_t *)args[1], *out = host(*(uint64_t *)args[2]);

	(void)grid;
	(void)block;
	for (uint64_t i = 0; i < words; i++)
		*out ^= in[i];
	took(*(uint64_t *)args[3]);
}

TWIN(bench_weigh)
{
	void *(*host)(unsigned long long) =
		(void *(*)(unsigned long long))bench_find("standin_host");
	uint64_t words = *(uint64_t *)args[1], *out = host(*(uint64_t *)args[2]);

	(void)grid;
	(void)block;
	*out += kernels_weight(host(*(uint64_t *)args[0]), 0, words);
}
