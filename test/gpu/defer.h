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

/* Per thread default stream, as a program built for that finds them. */
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

/* On `there`: what copies go to, where it is looked at, and words for kernels. */
#define TARGET  (there)
#define SEEN    (there + 24 * MIB)
#define WORDS   (there + 48 * MIB)
#define WORD(i) (WORDS + (i)*256)

/* Kernels; their twins take no time on the stand-in but do the same. */
struct kernels {
	CUfunction work, copy, await, trap;
};
extern struct kernels kernels;

extern CUstream blocking;

/* begin(), the streams and the kernels; again after begin_context() where contexts change. */
void defer_begin(void);
void defer_context(void);

/* Work of 3 ms that ends with a number, another one each time, at `at`.  Returns it. */
uint32_t work(CUstream on, CUdeviceptr at);
uint32_t work_ns(CUstream on, CUdeviceptr at, uint64_t ns);
/* Device memory to device memory, sizes multiples of 4; the device comes to it at once. */
void copy_by_kernel(CUstream on, CUdeviceptr to, CUdeviceptr from, size_t bytes);
/* Waits on the device until *at is not 0; after 2 s gives up and writes 1 to *late. */
void await(CUstream on, CUdeviceptr at, CUdeviceptr late);
/* The stand-in: called by the thread that begins to wait for such a kernel.  NULL: nothing is. */
extern void (*awaited)(void);
uint32_t word_of(CUdeviceptr at);

struct upload {
	CUdeviceptr to;
	size_t bytes;
	unsigned seed;
	bool per_thread; /* the copy's own stream is that of the thread */
	CUstream behind; /* where the work is that it comes after */
	uint32_t number; /* that the work writes */
};

#define UPLOADS 14

/* How long the work before an upload takes. */
unsigned work_us(void);

/* May change what happens: where the work writes, and what else is enqueued behind it. */
struct scene {
	CUdeviceptr writes;
	void (*also)(const struct upload *upload);
	unsigned ms; /* of work; 0: work_us() */
};
extern struct scene scene;

/*
 * One synchronous copy behind work that has just begun: the i-th of UPLOADS, of other sizes,
 * sources and streams each; turn varies the combinations.  The source is overwritten, freed or out
 * of scope when it returns.  What the library has let return early is on its way then; what it
 * has not, and need not be over natively either, has settled.
 */
void upload(struct upload *ret, CUdeviceptr to, unsigned i, unsigned turn);

/* Had the work of the last upload not ended when the copy returned? */
extern unsigned deferred;

/*
 * The device comes to what is on the stream, as far as nothing holds it up: on the stand-in nothing
 * runs otherwise, and what has not waited would be late enough all the same.
 */
void goes(CUstream on);

/*
 * So much time that everything is over that could be: on the stand-in it is, once the work is.
 */
void time_passes(void);

/*
 * Waits, behind the library's back, for what is natively not promised to be over: a copy of which
 * the driver has only staged the bytes, and one of the thread's own stream behind work of the
 * legacy one, which returns before that work (conform: over.up*).  Up to 4 KiB a copy has been
 * over on every idle device, but not where several processes share it.
 */
void settle(void);

/* Where there is no library that has let the copy return early. */
void settle_plain(void);

/*
 * All uploads, each looked at by `look`, which returns where the bytes now are on the device, or 0
 * where it has compared them itself.
 */
void each(unsigned turn, CUdeviceptr (*look)(const struct upload *upload));
#define EACH(look) each(__LINE__, look)

/* Are all bytes of the device's memory so? */
bool device_is(CUdeviceptr from, size_t bytes, unsigned char value);

/* Runs it on a thread of its own, with the same context. */
void in_thread(void *(*run)(void *), void *arg);

/* Is everything over except for non-blocking streams?  Asked behind the library's back. */
bool is_over(void);

/* The library may defer here. */
bool may_defer(void);

#endif
