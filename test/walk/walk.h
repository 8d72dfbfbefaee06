/*
 * A random program: what it has created so far, and what it may do next within CUDA's rules.
 *
 * A program is a list of steps that follows from its seed alone.  One of several threads executes
 * each step, one at a time, so the program is the same however fast the machine is.  In one kind of
 * step many threads run at the same time, on separate parts of memory (crowd.c).  For every
 * operation the model knows which others are complete when it begins, and when the host has waited
 * for it.  A step that would race is ordered first, by a call that the seed chooses.  Everything
 * that the program reads, and everything that calls return, enters its hash; two runs of a seed
 * must agree.
 */
#ifndef HP_WALK_WALK_H
#define HP_WALK_WALK_H

#include "driver.h"
#include "sizes.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define THREADS  3
#define CONTEXTS 2
#define LINES    48
#define STREAMS  4
#define EVENTS   4
#define GRAPHS   3
#define HOSTS    8
#define DEVICES  5
#define ARRAYS   2
#define ACCESSES 32
#define CELLS    64

/* By flavor: stream NULL is the legacy stream or the calling thread's own. */
extern struct driver cu[2];
/* Functions of the stand-in, NULL on a device. */
extern int (*standin_steps)(void);
extern int (*standin_step_one)(CUstream, int);
extern void (*standin_forget)(void);

/* Finds the driver as a runtime does; ends the process if there is none. */
void driver_find(void);

enum kernel { K_XOR, K_MIX, K_SPIN, K_COUNT };

/* ---- the model: model.c ---- */

/* For each line, the number of its completed operations. */
struct clock {
	unsigned at[LINES];
};

/* A line is a stream, for as long as the program runs: its operations run one after the other. */
struct line {
	struct clock clock; /* complete when the next operation begins, or earlier in the line */
	CUstream handle;
	int context, owner; /* owner: the thread whose per-thread stream it is, or -1 */
	bool legacy, blocking, alive;
};

struct access {
	int line;
	unsigned index;
	bool write;
	size_t lo, hi;
};

enum where {
	W_NOWHERE,
	W_MALLOC,
	W_ALIGNED,
	W_MAPPED,
	W_STATIC,
	W_PINNED, /* by cuMemHostAlloc() or cuMemAllocHost() */
	W_MANAGED,
	W_DEVICE,
	W_ARRAY,
};

/* The origin of device memory. */
enum how { BY_ALLOC, BY_POOL, BY_MAPPING };

struct buffer {
	enum where where;
	bool host, defined;
	int number; /* of its slot */
	union {
		char *at;
		CUdeviceptr there;
		CUarray array;
	};
	size_t bytes, mapped;
	bool pieces; /* a part was mapped again: mremap() fails if the kernel has not merged it */
	size_t width, rows; /* of an array; no rows: it is one-dimensional */
	enum how how;
	CUdeviceptr reserved;
	CUmemGenericAllocationHandle memory[2];
	unsigned generation;
	int context;           /* of device and pinned memory */
	size_t pin_lo, pin_hi; /* the part that the program has registered */
	int pin_context;
	unsigned accesses;
	struct access access[ACCESSES];
};

struct event {
	CUevent handle;
	int context;
	bool timing, recorded;
	struct clock clock;
};

struct named {
	struct buffer *buffer;
	unsigned generation;
	size_t lo, hi;
	bool write;
};

struct graph {
	CUgraphExec exec;
	int context;
	unsigned names;
	struct named named[16];
};

struct thread {
	int context;
};

struct program {
	uint64_t seed, hash;
	int step, thread;
	bool frozen;     /* a capture is active, so no call may wait */
	bool large, hot; /* few blocks of MiB; of a size that soon pays for a pin */
	/* The program has memory or functions that make device work host-visible. */
	bool pins, records_host, calls_back;
	size_t touched, favorite, favorite_stream;
	struct clock over; /* completed work that the host has waited for */
	int last;          /* the line that last got an operation */
	int lines, legacy[CONTEXTS], own[CONTEXTS][THREADS];
	struct line line[LINES];
	CUcontext context[CONTEXTS];
	CUfunction kernel[CONTEXTS][K_COUNT];
	struct buffer scratch[CONTEXTS]; /* device memory for temporary use */
	struct thread threads[THREADS];
	int stream[STREAMS]; /* lines, or -1 */
	struct event event[EVENTS], spare[CONTEXTS];
	struct graph graph[GRAPHS];
	struct buffer host[HOSTS], device[DEVICES], array[ARRAYS];
	unsigned cells;
	uint64_t progress;
};
extern struct program p;

/* The stream of an operation: a line, and its handle in the call. */
struct target {
	int line;
	CUstream handle;
	int flavor;
	const char *name;
};

/* Returns a new line, or -1 if there are too many. */
int line_new(int context, bool legacy, bool blocking, int owner, CUstream handle);
/* Returns its handle, if the calling thread can name it; otherwise false. */
bool line_handle(int line, CUstream *ret);
/* Returns what is complete before an operation that the line gets now. */
struct clock line_before(int line);
/* Appends an operation; returns its index. */
unsigned line_push(int line);
/* A call with this line put no operation there, as far as is guaranteed. */
void line_touch(int line);
/* The host knows that the whole line is complete. */
void line_over(int line);
/*
 * Its last operation was a synchronous upload of pageable memory, before which its clock was `own`:
 * "a stream sync is performed before the copy is initiated".  `over`: only work that this wait does
 * not cover can delay the copy.
 */
void line_uploaded(int line, const struct clock *own, bool over);
void clock_join(struct clock *to, const struct clock *from);
bool clock_covers(const struct clock *clock, const struct clock *other);
/* Returns the number of operations in the line. */
unsigned line_count(int line);

/*
 * Makes an access by the host, or by an operation of the target, free of races: waits if
 * necessary.  False if that is impossible, during a capture or because the line cannot be waited
 * for.
 */
bool host_may(struct buffer *buffer, size_t lo, size_t hi, bool write);
bool line_may(const struct target *to, struct buffer *buffer, size_t lo, size_t hi, bool write);
/* Records that the operation `index` of the line makes the access some time before it completes. */
void access_add(struct buffer *buffer, int line, unsigned index, size_t lo, size_t hi, bool write);
/* Makes host and line wait for all accesses of the buffer, which will be freed. */
bool buffer_idle(struct buffer *buffer);
/* Fills undefined memory, unless all of it will be written now. */
void buffer_define(struct buffer *buffer, size_t lo, size_t hi, bool whole_write);

/* ---- threads that take turns, and bytes: base.c ---- */

extern bool stand_in;
/* Runs the job on one of THREADS threads, and waits for its end; 0 is the main thread. */
void on_thread(int thread, void (*job)(void));
/* Ends the thread; the next job has a new one. */
void worker_stop(int thread);
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
uint64_t hash_of(const void *bytes, size_t count);
void fill(void *bytes, size_t count, uint64_t key);

/* ---- what a step needs: walk.c ---- */

uint64_t draw(void);
/* Returns a number below n. */
size_t below(size_t n);
bool one_in(unsigned n);
/* Lets the stand-in run some of the queued work. */
void progress(void);
size_t some_size(size_t least, size_t most);
/* Returns a size for a buffer of this program. */
size_t buffer_size(void);
/* Chooses a range of the buffer: all of it, or a part. */
void some_range(const struct buffer *buffer, size_t *lo, size_t *hi);
struct target some_target(void);
/* Returns the stream of a synchronous call of the flavor. */
struct target sync_target(int flavor);

extern bool verbose;
void tell(uint64_t value);
/* Records the result of a call and errno; the text is for readers. */
CUresult told(CUresult rc, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define SAY(call, ...)                         \
	({                                     \
		errno = 77;                    \
		CUresult rc_ = (call);         \
		told(rc_, errno, __VA_ARGS__); \
	})
/* The same for calls of libc. */
#define SAYS(call, ...)                             \
	({                                          \
		errno = 77;                         \
		long long rc_ = (long long)(call);  \
		told_libc(rc_, errno, __VA_ARGS__); \
	})
long long told_libc(long long rc, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Adds the bytes to the hash. */
void look(const struct buffer *buffer, size_t lo, size_t hi);

static inline int my_context(void)
{
	return p.threads[p.thread].context;
}

/* ---- steps ---- */

/* host.c */
void step_host_new(void);
void step_host_free(void);
void step_host_realloc(void);
void step_host_write(void);
void step_host_read(void);
void step_host_move(void);
void step_host_pages(void);
void step_host_register(void);
void host_drop(struct buffer *buffer);
struct buffer *some_host(void);
/* io.c */
void step_io(void);
/* The next program finds no data of this one. */
void io_forget(void);
void step_fork(void);
void step_signal(void);
/* device.c */
void step_device_new(void);
void step_device_free(void);
void device_drop(struct buffer *buffer);
struct buffer *some_device(int context);
void array_drop(struct buffer *buffer);
/* Returns an array of the current context; NULL if there is none. */
struct buffer *some_array(void);
/* work.c */
void step_memset(void);
void step_kernel(void);
void kernel_xor_at(const struct target *to, struct buffer *b, size_t lo, size_t hi);
void step_spin(void);
void step_callback(void);
/* A host function, and its action on a range; CELLS of them for each program. */
void callback_run(void *data);
void *callback_cell(struct buffer *b, size_t lo, size_t hi);
void kernels_load(int context);
/* The primary context ends, with its kernels. */
void kernels_forget(void);
/* copies.c */
void step_copy(void);
void step_copy_box(void);
void step_heat(void);
void step_pipeline(void);
void step_across(void);
void step_array(void);
void step_batch(void);
/* crowd.c */
void step_crowd(void);
/* streams.c */
void step_stream(void);
void step_stream_wait(void);
void step_query(void);
void step_event(void);
void step_context(void);
/* graphs.c */
void step_capture(void);
void step_graph(void);
/* ask.c */
void step_ask(void);
void step_wrong(void);

#endif
