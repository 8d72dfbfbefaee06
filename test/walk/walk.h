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

#include "../driver.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB      ((size_t)1 << 10)
#define MIB      ((size_t)1 << 20)
#define PAGE     ((size_t)4096)

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

/* By flavor: what stream NULL means, the legacy stream or the calling thread's own. */
extern struct driver cu[2];
/* Functions of the stand-in's, NULL on a device. */
extern int (*standin_steps)(void);
extern int (*standin_step_one)(CUstream, int);
extern void (*standin_forget)(void);

/* Finds the driver as a runtime does; ends the process where there is none. */
void driver_find(void);

enum kernel { K_XOR, K_MIX, K_SPIN, K_COUNT };

/* ---- the model: model.c ---- */

/* Of each line, how many of its operations are over. */
struct clock {
	unsigned at[LINES];
};

/* A stream, for as long as the program runs: its operations come one after the other. */
struct line {
	struct clock clock; /* over when the next operation begins, or before it in the line */
	CUstream handle;
	int context, owner; /* owner: the thread whose own stream it is, or -1 */
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

/* How device memory came to be. */
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
	size_t width, rows; /* of an array; no rows: it has one dimension */
	enum how how;
	CUdeviceptr reserved;
	CUmemGenericAllocationHandle memory[2];
	unsigned generation;
	int context;           /* of device and pinned memory */
	size_t pin_lo, pin_hi; /* what the program has registered of it */
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
	bool frozen;     /* a capture lives: nothing may be waited for */
	bool large, hot; /* few blocks of MiB; of a size that is soon worth pinning */
	/* Has it memory, or functions, that show what the device does without a call? */
	bool pins, records_host, calls_back;
	size_t touched, favorite, favorite_stream;
	struct clock over; /* what the host has waited for */
	int last;          /* line that was given something */
	int lines, legacy[CONTEXTS], own[CONTEXTS][THREADS];
	struct line line[LINES];
	CUcontext context[CONTEXTS];
	CUfunction kernel[CONTEXTS][K_COUNT];
	struct buffer scratch[CONTEXTS]; /* device memory that nobody else uses */
	struct thread threads[THREADS];
	int stream[STREAMS]; /* lines, or -1 */
	struct event event[EVENTS], spare[CONTEXTS];
	struct graph graph[GRAPHS];
	struct buffer host[HOSTS], device[DEVICES], array[ARRAYS];
	unsigned cells;
	uint64_t progress;
};
extern struct program p;

/* The stream of an operation: a line, and how the program names it. */
struct target {
	int line;
	CUstream handle;
	int flavor;
	const char *name;
};

/* A new line, or -1: there are too many. */
int line_new(int context, bool legacy, bool blocking, int owner, CUstream handle);
/* Its handle, where the calling thread can name it; false: it cannot. */
bool line_handle(int line, CUstream *ret);
/* What is over before an operation that the line is given now. */
struct clock line_before(int line);
/* Gives it an operation; returns its index. */
unsigned line_push(int line);
/* A call that named the line has put nothing there, as far as anybody promises. */
void line_touch(int line);
/* The host knows that all of the line is over. */
void line_over(int line);
/*
 * Its last operation was a synchronous upload of pageable memory, before which its clock was `own`:
 * "a stream sync is performed before the copy is initiated".  `over`: nothing but what that does
 * not wait for can be in the copy's way.
 */
void line_uploaded(int line, const struct clock *own, bool over);
void clock_join(struct clock *to, const struct clock *from);
bool clock_covers(const struct clock *clock, const struct clock *other);
/* How many operations the line has been given. */
unsigned line_count(int line);

/*
 * Makes an access by the host, or by an operation of the target, one that does not race: waits
 * where it must.  False: it cannot be, since a capture lives or the line cannot be waited for.
 */
bool host_may(struct buffer *buffer, size_t lo, size_t hi, bool write);
bool line_may(const struct target *to, struct buffer *buffer, size_t lo, size_t hi, bool write);
/* The operation `index` of the line will make the access at some time before it is over. */
void access_add(struct buffer *buffer, int line, unsigned index, size_t lo, size_t hi, bool write);
/* Host and line wait for all that concerns the buffer: it goes. */
bool buffer_idle(struct buffer *buffer);
/* Fills memory that nobody has written yet, unless all of it is to be written now. */
void buffer_define(struct buffer *buffer, size_t lo, size_t hi, bool whole_write);

/* ---- what a replay needs, too: base.c ---- */

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
/* A number below n. */
size_t below(size_t n);
bool one_in(unsigned n);
/* The stand-in may come to some of what is queued. */
void progress(void);
size_t some_size(size_t least, size_t most);
/* Of a buffer of this program. */
size_t buffer_size(void);
/* A range of the buffer: all of it, or a part. */
void some_range(const struct buffer *buffer, size_t *lo, size_t *hi);
struct target some_target(void);
/* What a synchronous call of the flavor means. */
struct target sync_target(int flavor);

extern bool verbose;
void tell(uint64_t value);
/* What a call returned, and what it left in errno; the text is for people. */
CUresult told(CUresult rc, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define SAY(call, ...)                         \
	({                                     \
		errno = 77;                    \
		CUresult rc_ = (call);         \
		told(rc_, errno, __VA_ARGS__); \
	})
/* The same of libc's calls. */
#define SAYS(call, ...)                             \
	({                                          \
		errno = 77;                         \
		long long rc_ = (long long)(call);  \
		told_libc(rc_, errno, __VA_ARGS__); \
	})
long long told_libc(long long rc, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reads it into the hash. */
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
/* The next program finds nothing that this one has written. */
void io_forget(void);
void step_fork(void);
void step_signal(void);
/* device.c */
void step_device_new(void);
void step_device_free(void);
void device_drop(struct buffer *buffer);
struct buffer *some_device(int context);
void array_drop(struct buffer *buffer);
/* One of the context that is current; NULL: there is none now. */
struct buffer *some_array(void);
/* work.c */
void step_memset(void);
void step_kernel(void);
void kernel_xor_at(const struct target *to, struct buffer *b, size_t lo, size_t hi);
void step_spin(void);
void step_callback(void);
/* A host function, and what it is to do to a range; CELLS of them a program. */
void callback_run(void *data);
void *callback_cell(struct buffer *b, size_t lo, size_t hi);
void kernels_load(int context);
/* The primary context ends, and its kernels with it. */
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
