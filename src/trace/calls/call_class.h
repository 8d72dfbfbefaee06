/*
 * Classes of driver functions, by name.
 */
#ifndef HP_TRACE_CALLS_CALL_CLASS_H
#define HP_TRACE_CALLS_CALL_CLASS_H

/* Kinds of functions. */
enum calls_kind {
	CALLS_START_UP = 1, /* starts CUDA or loads code */
	CALLS_LAUNCH = 2,
	CALLS_WORK = 4, /* not reported as a copy or wait: both above, allocations, memsets */
	CALLS_CROWDED = 8,
	CALLS_MAY_WAIT = 16, /* host code may then read what was downloaded before */
	CALLS_WAITS = 32     /* only waits for the device */
};

struct call_class {
	const char *name; /* in the profile */
	unsigned char kinds;
};

/* Returns the class of the function `name` of libcuda.so.1, of any version and flavor. */
struct call_class call_class_of(const char *name);

#endif
