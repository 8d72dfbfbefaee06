/*
 * odd.c - a libcuda.so.1 of a future version: it looks itself up as soon as it is loaded, has
 * functions that no header declares, with arguments of every kind, and records its arguments.
 */
#define __CUDA_API_VERSION_INTERNAL
#include "odd.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct odd_launch odd_launch;
int odd_looked_up_itself;

CUresult cuInit(unsigned flags)
{
	return flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* 11 arguments: five of them are on the stack. */
CUresult cuLaunchKernel(CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params,
			void **extra)
{
	odd_launch = (struct odd_launch){
		kernel, { gx, gy, gz, bx, by, bz, shared }, stream, params, extra
	};
	return (CUresult)4711;
}

double cuOddMixed(long a, double b, long c, float d, long e, double f, long g, double h, long i,
		  double j, long k, double l, long m, double n, double o, float p, double q, long r)
{
	return (double)(a + 2 * c + 3 * e + 4 * g + 5 * i + 6 * k + 7 * m + 8 * r) + b * 10 +
	       (double)d * 20 + f * 30 + h * 40 + j * 50 + l * 60 + n * 70 + o * 80 +
	       (double)p * 90 + q * 100;
}

struct odd_pair cuOddPair(long first, long second)
{
	return (struct odd_pair){ first * 2, second * 3 };
}

long cuOddVariadic(int count, ...)
{
	double sum = 0;
	va_list args;

	va_start(args, count);
	for (int i = 0; i < count; i++)
		sum += va_arg(args, double);
	va_end(args);
	return (long)sum;
}

/* More unknown names than the library has stubs. */
#define ODD(n)                     \
	long cuOddNumber##n(void); \
	long cuOddNumber##n(void)  \
	{                          \
		return 1##n;       \
	}
#define TEN(n)    \
	ODD(n##0) \
	ODD(n##1) ODD(n##2) ODD(n##3) ODD(n##4) ODD(n##5) ODD(n##6) ODD(n##7) ODD(n##8) ODD(n##9)

/* clang-format off */
TEN(0) TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8) TEN(9)
TEN(10) TEN(11) TEN(12) TEN(13) TEN(14) TEN(15) TEN(16) TEN(17) TEN(18) TEN(19)
extern int odd_looked_up_itself;
/* clang-format on */

CUresult cuGetProcAddress_v2(const char *name, void **ret, int version, cuuint64_t flags,
			     CUdriverProcAddressQueryResult *status)
{
	void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	(void)version, (void)flags, (void)status;
	*ret = dlsym(self, name);
	dlclose(self);
	return CUDA_SUCCESS;
}

__attribute__((constructor)) static void start(void)
{
	void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);

	if (self == NULL)
		return;
	odd_looked_up_itself = dlsym(self, "cuInit") == (void *)cuInit &&
			       dlsym(self, "cuOddPair") == (void *)cuOddPair;
	dlclose(self);
}
