/*
 * test_timed.c - calls that the profile times: their stubs call the driver instead of jumping to
 * it.
 */
#include "promote.h"

#include <sys/mman.h>
#include <ucontext.h>

#define PROFILE     "HOTPIN_OUT=$TEST_FOLDER/profile.json", "HOTPIN_CUPTI=off"
#define STACK_BYTES (64 * KIB)

/* No other function has as many arguments that the stand-in shows. */
TEST_AFTER_WITH(all_arguments_arrive, begin(), PROFILE)
{
	static cuuint64_t dim[5], strides[4];
	static int lower[3], upper[3];
	static cuuint32_t element[5];
	CUtensorMap map;

	OK(cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 5, element, dim, strides,
				   lower, upper, 64, 256, element, CU_TENSOR_MAP_INTERLEAVE_16B,
				   CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
				   CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA));
	const cuuint64_t sent[] = { CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
				    5,
				    (uintptr_t)element,
				    (uintptr_t)dim,
				    (uintptr_t)strides,
				    (uintptr_t)lower,
				    (uintptr_t)upper,
				    64,
				    256,
				    (uintptr_t)element,
				    CU_TENSOR_MAP_INTERLEAVE_16B,
				    CU_TENSOR_MAP_SWIZZLE_128B,
				    CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
				    CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA };

	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		CHECK_EQ(map.opaque[i], sent[i]);
}

/* The arguments of most functions are in registers.  A wrong one gives an error. */
TEST_AFTER_WITH(arguments_in_registers_arrive, begin(), PROFILE)
{
	for (int i = 0; i < 10; i++) {
		CUdeviceptr at = 0;

		OK(cuMemAddressReserve(&at, 2 * MIB, 0, 0, 0));
		CHECK(at != 0);
		CHECK_EQ(cuMemAddressReserve(&at, 3, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(cuMemAddressReserve(&at, 2 * MIB, 3, 0, 0), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(cuMemAddressReserve(&at, 2 * MIB, 0, 0, 1), CUDA_ERROR_INVALID_VALUE);
		OK(cuMemAddressFree(at, 2 * MIB));
	}
}

static ucontext_t program, coroutine;
static CUcontext current;

static void ask(void)
{
	OK(cuCtxGetCurrent(&current));
}

/* The stack of a coroutine, with nothing after it. */
TEST_WITH(a_stack_ends_behind_the_call, PROFILE)
{
	char *stack = mmap(NULL, STACK_BYTES + 64 * KIB, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	begin();
	CHECK_EQ(mprotect(stack + STACK_BYTES, 64 * KIB, PROT_NONE), 0);
	for (int i = 0; i < 200; i++) {
		current = NULL;
		CHECK_EQ(getcontext(&coroutine), 0);
		coroutine.uc_stack.ss_sp = stack;
		coroutine.uc_stack.ss_size = STACK_BYTES;
		coroutine.uc_link = &program;
		makecontext(&coroutine, ask, 0);
		CHECK_EQ(swapcontext(&program, &coroutine), 0);
		CHECK(current == context);
	}
}

PRELOAD_MAIN()
