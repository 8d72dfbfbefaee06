/*
 * required.c - defines every driver function that hotpin requires, for drivers with only a few
 * functions: each returns an error.  A function of the same name in such a driver takes precedence.
 */
#define REFUSED 801 /* CUDA_ERROR_NOT_SUPPORTED */

#define ROLE_(name)
#define ROLE_OPTIONAL(name)
#define ROLE_KERNEL(name)
#define ROLE_GRAPH(name)
#define ROLE_REQUIRED(name)                                          \
	__attribute__((weak, visibility("default"))) int name(void); \
	int name(void)                                               \
	{                                                            \
		return REFUSED;                                      \
	}
#define DRIVER(name, class, stream, ...) ROLE_##__VA_ARGS__(name)
#define WRAPPED                          DRIVER
#include "real/driver.def"
