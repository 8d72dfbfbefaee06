/*
 * Classes of driver functions, by name.
 */
#ifndef HP_TRACE_CALLS_CALL_CLASS_H
#define HP_TRACE_CALLS_CALL_CLASS_H

enum call_class {
	CALL_START_UP,    /* cuInit, contexts: once a process */
	CALL_ALLOCATE,    /* memory of the device or of the host, arrays, pools, mappings */
	CALL_FREE,        /* of what CALL_ALLOCATE allocates */
	CALL_LAUNCH,      /* kernels, host functions, graphs */
	CALL_SYNCHRONIZE, /* the host waits */
	CALL_COPY,
	CALL_MEMSET,
	CALL_MODULE, /* code: modules, libraries, the linker, queries of functions */
	CALL_STREAM, /* streams and events */
	CALL_OTHER,
	CALL_CLASSES
};

/* Returns the class of the function `name` of libcuda.so.1, of any version and flavor. */
enum call_class call_class_of(const char *name);

/* The names in the profile's JSON: "start_up", .. */
extern const char *const call_class_names[CALL_CLASSES];

#endif
