/* Functions of a possible future driver, and the arguments that they were called with. */
#ifndef HP_TEST_PRELOAD_ODD_H
#define HP_TEST_PRELOAD_ODD_H

#include <cuda.h>
#include <stdarg.h>

struct odd_launch {
	CUfunction kernel;
	unsigned numbers[7];
	CUstream stream;
	void **params, **extra;
};

struct odd_pair {
	long first, second;
};

#pragma GCC visibility push(default)
extern struct odd_launch odd_launch;
extern int odd_looked_up_itself;
double cuOddMixed(long a, double b, long c, float d, long e, double f, long g, double h, long i,
		  double j, long k, double l, long m, double n, double o, float p, double q,
		  long r);
struct odd_pair cuOddPair(long first, long second);
long cuOddVariadic(int count, ...);
#pragma GCC visibility pop

#endif
