/*
 * Callers that hotpin treats specially, by the library that their code is in.
 */
#ifndef HP_SHIM_DRIVER_CALLERS_H
#define HP_SHIM_DRIVER_CALLERS_H

#include <stdbool.h>

struct caller {
	/* The code is in the driver, or in an NVIDIA tool that needs the driver's own functions. */
	bool is_nvidias;

	/*
	 * The code is in a library of another API (video, ray tracing).  Such APIs let the device
	 * access the program's memory by functions that hotpin does not see.
	 */
	bool has_other_api;
};

/* Says what `address` is the code of. */
struct caller callers_look(const void *address);

/* True if `address` is in the driver library, by its name. */
bool callers_is_libcuda(const void *address);

/* True if a file of this name is the driver library. */
bool callers_is_libcudas_name(const char *file);

#endif
