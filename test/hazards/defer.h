/*
 * Shared by the tests of deferred copies: long work, then a synchronous upload, then everything
 * that could observe that the copy has not waited.
 *
 * They are tests of the same program as those of hazards.h, in a table of their own: the rows are
 * those of defer.c.  Every assertion also holds without the library: each test is run without it,
 * too.
 */
#ifndef HP_TEST_GPU_DEFER_H
#define HP_TEST_GPU_DEFER_H

#include "hazards.h"

#include <pthread.h>

#define UPLOAD_MOST (4 * MIB)

/* The default stream as a program of either kind of build finds it: legacy or per thread. */
struct flavor {
	__typeof__(cuMemcpyHtoD_v2) *put;
	__typeof__(cuMemcpyDtoH_v2) *get;
	__typeof__(cuLaunchKernel) *launch;
	__typeof__(cuStreamSynchronize) *wait;
	__typeof__(cuStreamQuery) *query;
	__typeof__(cuEventRecord) *record;
	__typeof__(cuMemcpyDtoDAsync_v2) *move;
};
extern struct flavor own;

/* Areas of `there`: the target of copies, the place for looks, and words for kernels. */
#define TARGET  (there)
#define SEEN    (there + 24 * MIB)
#define WORDS   (there + 48 * MIB)
#define WORD(i) (WORDS + (i)*256)

/* Kernels; on the stand-in their twins take no time, but have the same effect. */
struct kernels {
	CUfunction work, copy, await, trap;
};
extern struct kernels kernels;

extern CUstream blocking;

/*
 * Calls begin(), and creates the streams and the kernels; defer_context() again for a new context.
 */
void defer_begin(void);
void defer_context(void);

/* Enqueues work of 3 ms that ends by writing a new number at `at`.  Returns the number. */
uint32_t work(CUstream on, CUdeviceptr at);
uint32_t work_ns(CUstream on, CUdeviceptr at, uint64_t ns);
/* Copies within device memory, in multiples of 4 bytes; the device executes it immediately. */
void copy_by_kernel(CUstream on, CUdeviceptr to, CUdeviceptr from, size_t bytes);
/* Enqueues a kernel that waits until *at is not 0; after 2 s it gives up and writes 1 to *late. */
void await(CUstream on, CUdeviceptr at, CUdeviceptr late);
/* On the stand-in: called by the thread that begins to wait for such a kernel.  NULL: nothing. */
extern void (*awaited)(void);
uint32_t word_of(CUdeviceptr at);

struct upload {
	CUdeviceptr to;
	size_t bytes;
	unsigned seed;
	bool per_thread; /* the copy's own stream is that of the thread */
	CUstream behind; /* the stream of the earlier work */
	uint32_t number; /* which the work writes */
};

#define UPLOADS 14

/* Returns the duration of the work before an upload. */
unsigned work_us(void);

/* Varies a test: where the work writes, and further work that is enqueued after it. */
struct scene {
	CUdeviceptr writes;
	void (*also)(const struct upload *upload);
	unsigned ms; /* of the work; 0: work_us() */
};
extern struct scene scene;

/*
 * Makes one synchronous copy behind work that has just begun: number i of UPLOADS, which differ in
 * size, source and stream; `turn` varies the combinations.  The source is overwritten, freed or out
 * of scope on return.  A copy that the library deferred is in flight then.  A copy that it did not,
 * and that would not be complete without the library either, has settled.
 */
void upload(struct upload *ret, CUdeviceptr to, unsigned i, unsigned turn);

/* Counts uploads that returned before the earlier work had ended. */
extern unsigned deferred;

/*
 * Advances the stream as far as it can: on the stand-in nothing runs otherwise, and a copy that has
 * not waited would still be late enough.
 */
void goes(CUstream on);

/* Waits until everything is complete that could be: on the stand-in, once the work is. */
void time_passes(void);

/*
 * Waits, without the library's notice, for copies that need not be complete without the library,
 * either.  The driver has only staged the bytes of some.  A copy on the thread's own stream behind
 * work of the legacy stream returns before that work (conform: over.up*).  Up to 4 KiB a copy was
 * complete on every idle device, but not if several processes share it.
 */
void settle(void);

/* The same if no library has let the copy return early. */
void settle_plain(void);

/*
 * Makes all uploads.  `look` examines each: it returns where the bytes now are on the device, or 0
 * if it has compared them itself.
 */
void each(unsigned turn, CUdeviceptr (*look)(const struct upload *upload));
#define EACH(look) each(__LINE__, look)

/* True if all bytes of the device memory have this value. */
bool device_is(CUdeviceptr from, size_t bytes, unsigned char value);

/* Runs it on a new thread with the same context. */
void in_thread(void *(*run)(void *), void *arg);

/*
 * True if all work is complete, except on non-blocking streams.  The library does not notice the
 * query.
 */
bool is_over(void);

/* True if the library may defer copies here. */
bool may_defer(void);

#endif
