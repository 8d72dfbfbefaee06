/*
 * engine.h - the state of the modeled machine, and the lock that guards it.
 *
 * One lock guards everything.  call_begin() takes it and call_end() releases it.  In between it is
 * released only while code or memory of the program is used: a twin, a host function, a memcpy from
 * or to pageable memory, the parameters of a kernel.  The operation is marked as running during all
 * of these except the last.
 */
#ifndef STANDIN_ENGINE_H
#define STANDIN_ENGINE_H

/* Declares both ABIs of every name, under their exported names. */
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#define MODEL(name, value) MODEL_##name##_at,
#include "model.def"
	MODEL_COUNT
};
extern const uint64_t model[MODEL_COUNT];
#define MODEL_OF(name) model[MODEL_##name##_at]

/* ---- calls: engine.c ---- */

enum need {
	NEED_NOTHING = 0,
	NEED_INIT = 1,   /* cuInit was called */
	NEED_CTX = 2,    /* a live context is current */
	NEED_UNSAFE = 4, /* not allowed during some captures, see capture_forbids() */
};

struct engine {
	pthread_mutex_t lock;
	pthread_cond_t moved; /* some operation ended */
	int unregistering;    /* threads that wait there for running work */
	bool ready;           /* cuInit succeeded */
	_Atomic bool gone;    /* the process is past exit(); written without the lock */
	int pid, devices, version;
	bool hmm, ats, extra, reenter, softpin, ahead, lean;
	size_t pinned_most;       /* bytes of host memory that may be pinned; 0: any */
	_Atomic int orphan_calls; /* made in a child of fork() */
	unsigned jitter_us;
	int realtime; /* real time is so many times the virtual time; 0: they are unrelated */
	uint64_t _Atomic clock_ns; /* virtual time at the host; read without the lock, too */
};
extern struct engine engine;

/*
 * Opens a driver call: takes the lock, logs, checks what it needs.  The format knows %D device
 * pointer, %H host pointer, %S stream, %E event, %z size_t, %u unsigned, %i int, %s string, %p
 * null or not.  Returns an error with the lock released, or 0 with the lock held.
 */
CUresult call_begin(const char *name, unsigned need, const char *format, ...);
CUresult call_end(CUresult rc);
void engine_load(void);
CUresult engine_init(void);
void clock_spend(uint64_t ns);
void clock_reach(uint64_t ns);
uint64_t model_time(uint64_t bytes, uint64_t bytes_per_us);
/* True while this thread runs a host function, which must not make CUDA calls. */
extern __thread bool in_callback;

/* ---- handles: handle.c ---- */

enum kind {
	H_CTX = 1,
	H_STREAM,
	H_EVENT,
	H_MODULE,
	H_KERNEL,
	H_GRAPH,
	H_NODE,
	H_EXEC,
	H_ARRAY,
	H_MEMORY,
	H_COUNT
};

/* Handles of one kind are reused last in, first out, so that a stale one finds a new object. */
void *handle_new(enum kind kind, void *object);
void *handle_get(enum kind kind, const void *handle);
void handle_free(void *handle);

/* ---- log: log.c ---- */

void log_open(const char *path);
void log_call(const char *name, const char *format, va_list args);
void log_note(const char *text);
void fail_load(const char *spec);
/* Ends the process: with a fault that never occurs, a test would prove nothing. */
_Noreturn void misread(const char *variable, const char *value);
CUresult fail_due(const char *name);
/* ms by which a call returns after its effect, or has its effect after its start. */
struct delay {
	char name[64];
	unsigned ms;
};
extern struct delay delay_slow, delay_late;
void delay_load(struct delay *delay, const char *variable, const char *spec);
unsigned delay_due(const struct delay *delay, const char *name);
/* True if `name` is a flavor of `wanted`. */
bool name_matches(const char *name, const char *wanted);

/* ---- held calls: hold.c ---- */

/*
 * Waits while a test holds calls of `name` at `place`, an enum standin_place.  Releases the lock.
 */
void hold_here(const char *name, int place);

/* ---- contexts: context.c ---- */

struct stream;
struct ctx {
	CUcontext handle;
	int dev;
	unsigned flags, version, retains;
	unsigned attached; /* references by cuCtxAttach(), while the reference of the creation
			      exists */
	uint64_t id;
	bool primary, live;
	bool prints; /* a kernel that can print was launched */
	CUresult sticky;
	struct stream *streams; /* all streams, including the legacy one, and destroyed ones until
				   they are empty */
	struct stream *legacy;
	struct stream *watch; /* of cuCtxRecordEvent(): nothing waits for it */
	struct ctx *next;
};

struct ctx *ctx_current(void);
struct ctx *ctx_get(CUcontext handle);
struct ctx *ctx_primary(int dev);
CUresult ctx_check(void);
CUresult ctx_create(CUcontext *ret, unsigned flags, int dev, unsigned version);
CUresult ctx_create_green(CUgreenCtx *ret, int dev);
CUresult ctx_destroy(CUcontext handle);
CUresult ctx_attach(CUcontext *ret, unsigned flags);
CUresult ctx_detach(CUcontext handle);
CUresult ctx_push(CUcontext handle);
CUresult ctx_pop(CUcontext *ret);
CUresult ctx_set(CUcontext handle);
CUresult primary_retain(CUcontext *ret, int dev);
CUresult primary_release(int dev);
CUresult primary_reset(int dev);
void ctx_drain(struct ctx *ctx);
void device_drain(int dev);

/* ---- memory: memory.c, pin.c, portable.c ---- */

enum block_kind { B_DEVICE, B_MANAGED, B_HOST, B_REGISTERED, B_ARRAY, B_MAPPED };

#define BLOCK_POOLED 1u /* of B_DEVICE: by cuMemAllocAsync() */

struct block {
	uintptr_t base;
	size_t bytes;
	enum block_kind kind;
	unsigned flags, serial; /* flags: as passed to the call, or BLOCK_POOLED */
	struct ctx *ctx;
	int dev;
	bool sync_memops;
	int pin; /* slot in the pin table, -1 if soft */
};

struct array {
	CUarray handle;
	CUDA_ARRAY3D_DESCRIPTOR desc;
	size_t pitch, rows, layers; /* bytes of a row, rows of a layer */
	struct block *block;
};

extern size_t registered_bytes;
extern int registrations, guard_errors;

struct block *block_find(uintptr_t at);
bool block_is_host(const struct block *block);
bool block_on_device(const struct block *block);
/* Returns the host address of the contents of a device-range block; valid until it is freed. */
void *block_host(const struct block *block, uintptr_t at);
CUresult mem_alloc(uintptr_t *ret, size_t bytes, enum block_kind kind, unsigned flags);
CUresult mem_free(uintptr_t at, enum block_kind kind);
CUresult mem_free_now(uintptr_t at);
CUresult mem_register(void *at, size_t bytes, unsigned flags);
CUresult mem_unregister(void *at);
void mem_drop_ctx(struct ctx *ctx);
size_t mem_used(int dev);
/* Returns how many bytes follow `at` without a gap: adjacent mappings are one range. */
size_t block_room(const struct block *block, uintptr_t at);
/* For virtual.c: accounting of created memory, and addresses for mappings. */
bool mem_count(int dev, size_t bytes, bool more);
uintptr_t mem_reserved(size_t align);
uintptr_t mem_reserved_end(void);
/* Returns the start of the reservation that contains `at`, and its size. */
uintptr_t reservation(uintptr_t at, size_t *ret_bytes);
CUresult mem_map(uintptr_t at, size_t bytes, int fd, int dev);
void mem_unmap(uintptr_t at);
CUresult array_create(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *desc);
CUresult array_destroy(CUarray handle);
struct array *array_get(CUarray handle);
CUresult pointer_attribute(void *data, CUpointer_attribute attribute, uintptr_t at);
CUresult device_attribute(int *ret, CUdevice_attribute attribute, int dev);
CUresult pointer_clear(void *data, CUpointer_attribute attribute);

/* Counts a registration that begins or ends, if PORTABLE is its only flag: pins.h. */
void portable_count(const struct block *block, bool more);
void portable_load(const char *path, const char *limit_text);

/* Pins the pages of a range as a driver does; -1 if the kernel does not allow it. */
int pin_take(uintptr_t base, size_t bytes, bool *ret_fault);
void pin_drop(int slot);
/* DMA: moves bytes between the pinned pages and a buffer, independently of the current mapping. */
void pin_read(int slot, uintptr_t from, void *to, size_t bytes);
void pin_write(int slot, uintptr_t to, const void *from, size_t bytes);

/* ---- work: stream.c, copy.c, kernel.c ---- */

struct side {
	CUmemorytype type; /* HOST, DEVICE or ARRAY; never UNIFIED after copy_resolve() */
	uintptr_t at;      /* first byte */
	uintptr_t given;   /* the start of the side as stated for a box; 0: at `at` */
	size_t pitch, slice;
	struct array *array;
	enum { SIDE_PAGEABLE, SIDE_PINNED, SIDE_DEVICE, SIDE_STAGED } class;
	unsigned serial; /* of the block at that address */
};

struct xfer {
	struct side src, dst;
	size_t width, height, depth;
	void *staged; /* from buffer_take(): a copy of the source, rows packed */
	bool at_once; /* the source must be read before the call returns */
	bool fault;   /* the access reached memory that no longer exists */
};

struct fill {
	uintptr_t at;
	size_t pitch, width, height; /* width in elements */
	unsigned value, size;
};

struct kernel;
struct launch {
	struct kernel *kernel;
	unsigned grid[3], block[3], nargs;
	void *args; /* malloc'd copies */
	CUresult fault;
};

struct event;
enum work_kind {
	W_NOP,
	W_COPY,
	W_FILL,
	W_KERNEL,
	W_HOST,
	W_CALLBACK,
	W_FREE,
	W_WAIT_VALUE,
};

struct work {
	enum work_kind kind;
	union {
		struct xfer copy;
		struct fill fill;
		struct launch launch;
		struct {
			CUhostFn fn;
			CUstreamCallback callback;
			CUstream stream;
			void *data;
		} host;
		struct {
			uintptr_t at;
			unsigned value, flags;
		} wait;
		uintptr_t free;
	};
};

enum op_state { OP_QUEUED, OP_RUNNING, OP_DONE };

struct op {
	struct work work;
	enum op_state state;
	unsigned refs, ndeps;
	bool wanted;
	struct stream *stream;
	struct op **deps;
	struct op *next;          /* in the stream */
	struct op *older, *newer; /* in the order of enqueueing, all streams */
	struct op *next_wanted;
	uint64_t queued_ns, end_ns;
};

struct capture;
struct node;
struct nodes {
	struct node **at;
	size_t count;
};

struct stream {
	CUstream handle;
	struct ctx *ctx;
	uint64_t id;
	unsigned flags;
	const void *owner; /* the thread, for per-thread streams */
	bool legacy, dead;
	struct op *head, *tail, *last;
	int queued;
	uint64_t end_ns;
	struct capture *capture;
	struct nodes tips; /* what the next captured node depends on */
	struct stream *next;
};

struct event {
	CUevent handle;
	struct ctx *ctx;
	unsigned flags, serial;
	bool recorded;
	struct op *op;
	uint64_t end_ns;
	struct capture *capture;
	struct nodes tips;
	struct event *next; /* of all */
};

CUresult stream_create(CUstream *ret, unsigned flags);
CUresult stream_destroy(CUstream handle);
struct stream *stream_new(struct ctx *ctx, unsigned flags, const void *owner);
void stream_free(struct stream *stream);
/* Converts a handle to a stream: NULL, 1 and 2 have their meaning in this flavor. */
CUresult stream_get(CUstream handle, bool per_thread, struct stream **ret);
/* Takes over the work, which is released even on failure; the op comes with a reference. */
CUresult stream_push(struct stream *stream, struct work *work, struct op **ret);
CUresult stream_may_push(struct stream *stream);
/* Appends an operation after the last one of every stream; no later operation waits for it. */
CUresult stream_push_last(struct ctx *ctx, struct op **ret);
bool stream_idle(struct stream *stream);
void stream_drain(struct stream *stream);
/* Waits for what a new operation on the stream would wait for. */
void stream_settle(struct stream *stream);
void op_complete(struct op *op);
void op_put(struct op *op);
/*
 * True if any operation is queued.  op_run_any() runs a random one that is ready and allowed; false
 * if there is none.
 */
bool op_any(void);
bool op_run_any(uint64_t chance, bool (*may)(const struct op *));
int stream_step(struct stream *stream, int n);
int step_all(void);

/* ---- streams that move by themselves: steps.c; the lock is held, but in steps_end() ---- */

void steps_load(const char *spec);
/* Called after the driver was initialized. */
void steps_begin(void);
/* Called before a call returns. */
void steps_called(void);
/* Called when the lock is released for a copy of pageable memory: other threads may run. */
void steps_unlocked(void);
/* Called before the process exits. */
void steps_end(void);

CUresult event_create(CUevent *ret, unsigned flags);
CUresult event_destroy(CUevent handle);
void event_drop_ctx(struct ctx *ctx);
CUresult event_record(CUevent handle, struct stream *stream);
CUresult event_record_all(CUevent handle, struct ctx *ctx);
CUresult event_wait(struct stream *stream, CUevent handle);
CUresult event_query(CUevent handle);
CUresult event_sync(CUevent handle);
CUresult event_elapsed(float *ms, CUevent start, CUevent end);

void work_run(struct work *work, uint64_t *ret_ns);
void work_release(struct work *work);
bool work_clone(struct work *to, const struct work *from);

/* Memory for a copy, NULL if there is none; buffer_give() takes NULL too.  Both under the lock. */
void *buffer_take(size_t bytes);
void buffer_give(void *bytes);

CUresult copy_start(struct xfer *x, struct stream *stream, bool async);
CUresult copy_resolve(struct xfer *x);
/* Reads the data of a node's copy that is read at the launch of its graph. */
CUresult copy_launch(struct xfer *x);
CUresult copy_linear(struct xfer *x, CUmemorytype dst_type, uintptr_t dst, CUmemorytype src_type,
		     uintptr_t src, size_t bytes);
CUresult copy_from_3d(struct xfer *x, const CUDA_MEMCPY3D *c);
void copy_run(struct xfer *x);
bool copy_is_lost(const struct xfer *x);
uint64_t copy_ns(const struct xfer *x);
CUresult fill_start(struct fill *fill, struct stream *stream, bool async);

/* ---- kernels: kernel.c ---- */

struct module {
	CUmodule handle;
	bool library;
	struct global *globals;
	struct kernel *kernels;
};

struct kernel {
	CUfunction handle;
	char *name;
	struct module *module;
	bool prints;
	struct kernel *next;
};

CUresult module_load(CUmodule *ret, const void *image, bool library);
CUresult module_unload(CUmodule handle);
CUresult module_kernel(CUfunction *ret, CUmodule handle, const char *name);
CUresult module_global(CUdeviceptr *ret, size_t *bytes, CUmodule handle, const char *name);
struct kernel *kernel_get(const void *handle);
/* Prepares a launch, with copies of its arguments. */
CUresult kernel_prepare(struct launch *launch, const void *handle, const unsigned dim[6],
			void **params, void **extra);
CUresult kernel_launch(const void *handle, const unsigned dim[6], struct stream *stream,
		       void **params, void **extra);
void kernel_run(struct launch *launch, uint64_t *ret_ns);

/* ---- capture and graphs: capture.c, graph.c ---- */

struct graph;
CUresult capture_forbids(void);
bool capture_pushes(struct stream *stream, struct work *work, CUresult *ret);
void capture_break(struct capture *capture);
CUresult capture_break_stream(struct stream *stream);
CUresult capture_legacy(struct ctx *ctx);
CUresult capture_break_ctx(struct ctx *ctx);
CUresult capture_begin(struct stream *stream, CUstreamCaptureMode mode, CUgraph to,
		       const CUgraphNode *deps, size_t ndeps);
CUresult capture_end(struct stream *stream, CUgraph *ret);
bool capture_event_record(struct event *event, struct stream *stream);
bool capture_event_wait(struct stream *stream, struct event *event, CUresult *ret);
void capture_forget_stream(struct stream *stream);
void capture_drop_ctx(struct ctx *ctx);
CUresult capture_info(struct stream *stream, CUstreamCaptureStatus *status, cuuint64_t *id,
		      CUgraph *graph, const CUgraphNode **deps, size_t *ndeps);
CUresult capture_exchange(CUstreamCaptureMode *mode);

struct graph *graph_new(void);
struct graph *graph_get(CUgraph handle);
CUgraph graph_handle(struct graph *graph);
void graph_free(struct graph *graph);
struct node *graph_add(struct graph *graph, struct work *work, const struct nodes *deps);
CUresult graph_instantiate(CUgraphExec *ret, CUgraph handle);
CUresult graph_launch(CUgraphExec handle, struct stream *stream);
CUgraphNode node_handle(struct node *node);
struct node *node_get(CUgraphNode handle);
void nodes_set(struct nodes *to, const struct nodes *from);
void nodes_add(struct nodes *to, struct node *node);
bool nodes_reach(const struct nodes *tips, const struct nodes *targets);
CUresult graph_add_node(CUgraphNode *ret, CUgraph handle, const CUgraphNode *deps, size_t ndeps,
			struct work *work);
CUresult graph_nodes(CUgraph handle, CUgraphNode *nodes, size_t *count);
CUresult graph_destroy(CUgraph handle);
CUresult graph_exec_destroy(CUgraphExec handle);

#endif
