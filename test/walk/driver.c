/*
 * driver.c - the driver as a runtime finds it, and the kernels.
 *
 * Kernels are PTX that the driver compiles; host twins let the same program run on the stand-in.
 */
#include "walk.h"

#include "../standin/standin.h"

#include <dlfcn.h>
#include <string.h>

struct driver cu[2];
int (*standin_steps)(void);
int (*standin_step_one)(CUstream, int);
void (*standin_forget)(void);

static void (*standin_took)(uint64_t);
static void *(*standin_where)(CUdeviceptr);

static const char image[] =
	".version 6.0\n"
	".target sm_50\n"
	".address_size 64\n"
	/* words[i] = (words[i] ^ (key + i)) * an odd number, after a while */
	".visible .entry walk_xor(.param .u64 xor_at, .param .u64 xor_words, .param .u64 xor_key,\n"
	"	.param .u64 xor_ns)\n"
	"{\n"
	"	.reg .u64 %begin, %now, %ns, %at, %words, %key, %i, %step, %here, %word;\n"
	"	.reg .u32 %thread, %threads, %block, %blocks;\n"
	"	.reg .pred %more;\n"
	"	mov.u64 %begin, %globaltimer;\n"
	"	ld.param.u64 %at, [xor_at];\n"
	"	ld.param.u64 %words, [xor_words];\n"
	"	ld.param.u64 %key, [xor_key];\n"
	"	ld.param.u64 %ns, [xor_ns];\n"
	"again:\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %now, %now, %begin;\n"
	"	setp.lt.u64 %more, %now, %ns;\n"
	"	@%more bra again;\n"
	"	cvta.to.global.u64 %at, %at;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	mov.u32 %threads, %ntid.x;\n"
	"	mov.u32 %block, %ctaid.x;\n"
	"	mov.u32 %blocks, %nctaid.x;\n"
	"	mad.lo.u32 %thread, %block, %threads, %thread;\n"
	"	cvt.u64.u32 %i, %thread;\n"
	"	mul.wide.u32 %step, %threads, %blocks;\n"
	"next:\n"
	"	setp.ge.u64 %more, %i, %words;\n"
	"	@%more bra done;\n"
	"	shl.b64 %here, %i, 3;\n"
	"	add.u64 %here, %here, %at;\n"
	"	ld.global.u64 %word, [%here];\n"
	"	add.u64 %now, %key, %i;\n"
	"	xor.b64 %word, %word, %now;\n"
	"	mul.lo.u64 %word, %word, 0x9e3779b97f4a7c15;\n"
	"	st.global.u64 [%here], %word;\n"
	"	add.u64 %i, %i, %step;\n"
	"	bra next;\n"
	"done:\n"
	"	ret;\n"
	"}\n"
	/* out[i] = out[i] * 3 + in[i], after a while */
	".visible .entry walk_mix(.param .u64 mix_out, .param .u64 mix_in, .param .u64 mix_words,\n"
	"	.param .u64 mix_ns)\n"
	"{\n"
	"	.reg .u64 %begin, %now, %ns, %out, %in, %words, %i, %step, %from, %to, %a, %b;\n"
	"	.reg .u32 %thread, %threads, %block, %blocks;\n"
	"	.reg .pred %more;\n"
	"	mov.u64 %begin, %globaltimer;\n"
	"	ld.param.u64 %out, [mix_out];\n"
	"	ld.param.u64 %in, [mix_in];\n"
	"	ld.param.u64 %words, [mix_words];\n"
	"	ld.param.u64 %ns, [mix_ns];\n"
	"again:\n"
	"	mov.u64 %now, %globaltimer;\n"
	"	sub.u64 %now, %now, %begin;\n"
	"	setp.lt.u64 %more, %now, %ns;\n"
	"	@%more bra again;\n"
	"	cvta.to.global.u64 %out, %out;\n"
	"	cvta.to.global.u64 %in, %in;\n"
	"	mov.u32 %thread, %tid.x;\n"
	"	mov.u32 %threads, %ntid.x;\n"
	"	mov.u32 %block, %ctaid.x;\n"
	"	mov.u32 %blocks, %nctaid.x;\n"
	"	mad.lo.u32 %thread, %block, %threads, %thread;\n"
	"	cvt.u64.u32 %i, %thread;\n"
	"	mul.wide.u32 %step, %threads, %blocks;\n"
	"next:\n"
	"	setp.ge.u64 %more, %i, %words;\n"
	"	@%more bra done;\n"
	"	shl.b64 %from, %i, 3;\n"
	"	add.u64 %to, %from, %out;\n"
	"	add.u64 %from, %from, %in;\n"
	"	ld.global.u64 %a, [%to];\n"
	"	ld.global.u64 %b, [%from];\n"
	"	mad.lo.u64 %a, %a, 3, %b;\n"
	"	st.global.u64 [%to], %a;\n"
	"	add.u64 %i, %i, %step;\n"
	"	bra next;\n"
	"done:\n"
	"	ret;\n"
	"}\n"
	".visible .entry walk_spin(.param .u64 spin_ns)\n"
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
	"}\n";

void driver_find(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	__typeof__(cuGetProcAddress_v2) *get;

	if (driver == NULL)
		fail("no driver: %s", dlerror());
	get = (__typeof__(cuGetProcAddress_v2) *)dlsym(driver, "cuGetProcAddress_v2");
	standin_steps = (int (*)(void))dlsym(driver, "standin_step_all");
	standin_forget = (void (*)(void))dlsym(driver, "standin_log_reset");
	standin_step_one = (int (*)(CUstream, int))dlsym(driver, "standin_step");
	standin_took = (void (*)(uint64_t))dlsym(driver, "standin_twin_ns");
	standin_where = (void *(*)(CUdeviceptr))dlsym(driver, "standin_host");
	stand_in = standin_steps != NULL;
#define GET(symbol, name, version)                                                          \
	for (int i = 0; i < 2; i++) {                                                       \
		int since = i == 1 && (version) < 7000 ? 7000 : (version);                  \
		unsigned flags = i == 1 ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM     \
					: CU_GET_PROC_ADDRESS_LEGACY_STREAM;                \
		void *found = NULL;                                                         \
                                                                                            \
		if (get(name, &found, since, flags, NULL) != CUDA_SUCCESS || found == NULL) \
			fail("the driver has no " name);                                    \
		cu[i].symbol = (__typeof__(symbol) *)found;                                 \
	}
	DRIVER_FUNCTIONS(GET)
#undef GET
	if (cu[0].cuInit(0) != CUDA_SUCCESS)
		fail("cuInit");
}

/* The primary context's are kept from program to program: compiling them takes a device long. */
static CUfunction kept[K_COUNT];
static bool loaded;

void kernels_forget(void)
{
	loaded = false;
}

void kernels_load(int context)
{
	static const char *const names[] = { "walk_xor", "walk_mix", "walk_spin" };
	CUmodule module = NULL;

	if (cu[0].cuEventCreate(&p.spare[context].handle, CU_EVENT_DISABLE_TIMING) !=
		    CUDA_SUCCESS ||
	    cu[0].cuMemAlloc_v2(&p.scratch[context].there, 4096) != CUDA_SUCCESS)
		fail("a context that cannot be used");
	if (context == 0 && loaded) {
		memcpy(p.kernel[0], kept, sizeof(kept));
		return;
	}
	if (cu[0].cuModuleLoadData(&module, image) != CUDA_SUCCESS)
		fail("the kernels do not compile");
	for (int i = 0; i < K_COUNT; i++)
		if (cu[0].cuModuleGetFunction(&p.kernel[context][i], module, names[i]) !=
		    CUDA_SUCCESS)
			fail("no kernel");
	if (context == 0)
		memcpy(kept, p.kernel[0], sizeof(kept));
	loaded = loaded || context == 0;
}

#define TWIN(name)                                                                               \
	STANDIN_EXPORT void standin_twin_##name(const unsigned grid[3], const unsigned block[3], \
						void **args);                                    \
	STANDIN_EXPORT void standin_twin_##name(const unsigned grid[3] __attribute__((unused)),  \
						const unsigned block[3] __attribute__((unused)), \
						void **args)
#define TWIN_ARGS(name)                                             \
	extern STANDIN_EXPORT const unsigned standin_args_##name[]; \
	const unsigned standin_args_##name[]

TWIN_ARGS(walk_xor) = { 8, 8, 8, 8, 0 };
TWIN_ARGS(walk_mix) = { 8, 8, 8, 8, 0 };
TWIN_ARGS(walk_spin) = { 8, 0 };

TWIN(walk_xor)
{
	uint64_t *at = standin_where(*(CUdeviceptr *)args[0]);
	uint64_t words = *(uint64_t *)args[1], key = *(uint64_t *)args[2];

	for (uint64_t i = 0; i < words; i++)
		at[i] = (at[i] ^ (key + i)) * 0x9e3779b97f4a7c15ull;
	standin_took(*(uint64_t *)args[3]);
}

TWIN(walk_mix)
{
	uint64_t *to = standin_where(*(CUdeviceptr *)args[0]);
	const uint64_t *from = standin_where(*(CUdeviceptr *)args[1]);
	uint64_t words = *(uint64_t *)args[2];

	for (uint64_t i = 0; i < words; i++)
		to[i] = to[i] * 3 + from[i];
	standin_took(*(uint64_t *)args[3]);
}

TWIN(walk_spin)
{
	standin_took(*(uint64_t *)args[0]);
}
