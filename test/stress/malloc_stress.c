/*
 * malloc_stress.c - compares the allocation functions of this process with a model.
 *
 *	malloc_stress [--seed=N] [--threads=N] [--operations=N] [--seconds=N] [--max=BYTES] ...
 *
 * It does not know which library provides them: it runs plainly and with something preloaded.
 *
 * Threads make random steps, each with blocks of its own and with shared mailboxes.  A thread's
 * choices follow from the seed and its number alone.  What it gets from a mailbox, and whether
 * memory is left, depends on the other threads.  With one thread a walk repeats exactly.  A failure
 * ends the process immediately, with the seed, the thread and the step.  Nothing here allocates
 * except pthread_create(), which is meant to.
 */
#include "memory.h"
#include "preload.h"
#include "random.h"
#include "shadow.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <time.h>

#define SLOTS          192
#define FREED          16
#define WALKERS        64
#define MAILBOXES      64

/* One in DENSE blocks below DENSE_MOST bytes carries marks in all of its pages. */
#define DENSE          16
#define DENSE_MOST     (8 * MIB)

/* Other blocks have marks in so many pages. */
#define MARKED         64

/*
 * A thread ends after so many steps and a new one starts, because allocators keep state for each
 * thread.
 */
#define LIFE           6000

/* The size from which usable bytes are checked. */
#define WASTE_FROM     (256 * KIB)

/* Refusing less than this is a failure; for more, memory may really be short. */
#define MAY_BE_REFUSED (256 * MIB)
/* Steps of all threads from one fork to the next. */
#define FORK_EVERY     1500
#define STEPS_IN_CHILD 100

#define LEAK_BYTES     (3 * MIB)
#define LEAK_TURNS     150

#define CROWD          6
#define CROWD_FORKS    20

extern char **environ;

/* Options, in this order; sizes may end in K, M or G. */
enum { SEED, THREADS, OPERATIONS, SECONDS, MOST_TOUCHED, LEAST, LARGEST, WASTE, WASTE_SLACK };
static struct option {
	const char *name;
	double value;
} options[] = {
	{ "--seed=", 1 },        { "--threads=", 16 },
	{ "--operations=", 0 },                     /* of each thread, 0: no limit */
	{ "--seconds=", 0 },                        /* for test/stress/run, 0: no limit */
	{ "--max=", 2 * GIB },                      /* bytes in pages that live blocks touch */
	{ "--least=", 1 },                          /* sizes of blocks */
	{ "--largest=", GIB },   { "--waste=", 0 }, /* limit of usable / asked, 0: none */
	{ "--waste-slack=", 0 },                    /* and so many further bytes */
};

static uint64_t option(int which)
{
	return (uint64_t)options[which].value;
}

/* One block and its expected state. */
struct held {
	char *address;
	size_t usable; /* claimed in the shadow */
	struct pattern pattern;
};

/*
 * Busy while the block is allocated, freed or changed.  The child of a fork does not use busy
 * slots, because the thread that made them busy does not exist there.
 */
enum slot_state { SLOT_EMPTY, SLOT_BUSY, SLOT_FULL };

struct slot {
	_Atomic int state; /* enum slot_state */
	struct held held;
};

struct walker;
typedef void *(*ask_fn)(size_t bytes, size_t alignment);

/* A kind of step, which is taken with its share of the sum of all weights. */
struct kind {
	const char *name;
	unsigned weight;
	/* The slot that the step gets, busy; it leaves it full or empty.  SLOT_BUSY: it gets none.
	 */
	enum slot_state needs;
	void (*take)(struct walker *walker, struct slot *slot);
	ask_fn ask; /* the allocator's function; NULL if the kind allocates nothing */
};

static struct walker {
	int index;
	uint64_t random, steps_left;
	_Atomic uint64_t step;
	const struct kind *kind;
	uint64_t counts[32]; /* of each kind */
	size_t freed[FREED]; /* sizes of the blocks freed last */
	unsigned freed_next;
	double waste_most; /* usable / asked, of large blocks */
	size_t waste_asked;
	struct slot slots[SLOTS];
} walkers[WALKERS + 1]; /* one more for the child of a fork */

static struct slot mailboxes[MAILBOXES];
static _Atomic size_t touched, touched_top;
static _Atomic bool stop;
static _Atomic unsigned running;
static _Atomic uint64_t refused;
static _Atomic bool crowd_stops;
static uint64_t forks, spawns;
static __thread struct walker *self;

/* volatile, so that compilers do not apply their knowledge of malloc(). */
static __thread void *volatile kept_from_compiler;

static int say_where(char *text, size_t room)
{
	unsigned long long seed = option(SEED);

	if (self == NULL || self->kind == NULL)
		return snprintf(text, room, "seed %llu, no walker: ", seed);
	return snprintf(text, room, "seed %llu, thread %d, step %llu, %s: ", seed, self->index,
			(unsigned long long)self->step, self->kind->name);
}

/* Ends the process with status 1. */
__attribute__((noreturn, format(printf, 1, 2))) static void walk_fail(const char *format, ...)
{
	char text[512];
	va_list args;
	int used = say_where(text, sizeof(text));

	va_start(args, format);
	used += vsnprintf(text + used, sizeof(text) - (size_t)used, format, args);
	va_end(args);
	text[used] = '\n';
	if (write(STDERR_FILENO, text, (size_t)used + 1) < 0)
		_exit(2);
	_exit(1);
}

static void on_signal(int number)
{
	walk_fail("signal %d", number);
}

static bool parse_one(const char *word)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		size_t length = strlen(options[i].name);
		char *end;

		if (strncmp(word, options[i].name, length) != 0)
			continue;
		double value = strtod(word + length, &end);
		if (*end == 'K' || *end == 'M' || *end == 'G')
			value *= *end == 'K' ? KIB : *end == 'M' ? MIB : GIB, end++;
		options[i].value = value;
		return end != word + length && *end == '\0';
	}
	return false;
}

static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (parse_one(argv[i]))
			continue;
		fprintf(stderr, "%s: cannot read '%s'; there are", argv[0], argv[i]);
		for (size_t row = 0; row < sizeof(options) / sizeof(options[0]); row++)
			fprintf(stderr, " %s", options[row].name);
		fprintf(stderr, "\n");
		exit(2);
	}
	if (option(THREADS) < 1 || option(THREADS) > WALKERS || option(LEAST) < 1 ||
	    option(LARGEST) < option(LEAST)) {
		fprintf(stderr, "%s: 1 to %d threads, sizes from 1 on\n", argv[0], WALKERS);
		exit(2);
	}
}

/* Reserves the shadow, prints the seed, and makes fatal signals print the position of the walk. */
static void begin(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGALRM };

	if (!shadow_start())
		walk_fail("no addresses for the shadow");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_signal);
	for (int i = 0; i <= WALKERS; i++) {
		walkers[i].index = i;
		walkers[i].random = random_mix(option(SEED)) + (uint64_t)i;
		walkers[i].steps_left = option(OPERATIONS) ?: UINT64_MAX;
	}
	printf("# seed %llu, %u threads, sizes %zu to %zu, %zu MiB touched at most\n",
	       (unsigned long long)option(SEED), (unsigned)option(THREADS), (size_t)option(LEAST),
	       (size_t)option(LARGEST), (size_t)option(MOST_TOUCHED) / MIB);
	fflush(stdout);
}

static uint64_t draw(struct walker *walker)
{
	return random_next(&walker->random);
}

static size_t below(struct walker *walker, size_t bound)
{
	return random_below(&walker->random, bound);
}

/* Returns a slightly larger or smaller size, or the same. */
static size_t near(struct walker *walker, size_t bytes)
{
	static const int off[] = { 0,  1,   7,   8,    9,    15,   16,    17,
				   24, 255, 256, 4080, 4095, 4096, 65535, 65536 };
	size_t by = (size_t)off[below(walker, sizeof(off) / sizeof(off[0]))];

	if (draw(walker) % 4 == 0)
		by = below(walker, bytes / 8 + 1);
	return draw(walker) % 2 ? bytes + by : bytes > by ? bytes - by : 1;
}

/* Each power of two, and the sizes up to the next, is equally frequent. */
static size_t log_uniform(struct walker *walker, size_t least, size_t most)
{
	if (most > option(LARGEST))
		most = option(LARGEST);

	unsigned low = 63u - (unsigned)__builtin_clzl(least);
	unsigned high = 63u - (unsigned)__builtin_clzl(most);
	size_t power = (size_t)1 << (low + below(walker, high - low + 1));

	return power + below(walker, power);
}

static size_t some_size(struct walker *walker)
{
	static const size_t borders[] = { 128 * KIB, 256 * KIB, 256 * KIB, 512 * KIB,
					  MIB,       2 * MIB,   2 * MIB,   32 * MIB };
	size_t least = option(LEAST), most = option(LARGEST), bytes;
	unsigned chance = (unsigned)below(walker, 1000);

	if (chance < 450)
		bytes = log_uniform(walker, least, least < 64 * KIB ? 64 * KIB : 4 * MIB);
	else if (chance < 550)
		bytes = near(walker, borders[below(walker, sizeof(borders) / sizeof(borders[0]))]);
	else if (chance < 800)
		bytes = near(walker, walker->freed[below(walker, FREED)] ?: 256 * KIB);
	else if (chance < 850)
		bytes = ((size_t)1 << below(walker, 26)) + below(walker, 3) - 1;
	else if (chance < 996)
		bytes = log_uniform(walker, least, 32 * MIB);
	else
		bytes = chance == 999 ? most - below(walker, 3) : log_uniform(walker, least, most);
	return bytes < least ? least : bytes > most ? most : bytes;
}

static bool claim(struct slot *slot, int state)
{
	return atomic_compare_exchange_strong(&slot->state, &state, SLOT_BUSY);
}

/* Makes a random slot in this state busy; NULL if there is none. */
static struct slot *pick(struct walker *walker, enum slot_state state)
{
	for (size_t i = 0, at = below(walker, SLOTS); i < SLOTS; i++)
		if (claim(&walker->slots[(at + i) % SLOTS], state))
			return &walker->slots[(at + i) % SLOTS];
	return NULL;
}

static void check_usable(struct walker *walker, size_t bytes, size_t usable)
{
	if (usable < bytes)
		walk_fail("%zu bytes usable of %zu", usable, bytes);
	if (bytes < WASTE_FROM)
		return;
	if ((double)usable > walker->waste_most * (double)bytes) {
		walker->waste_most = (double)usable / (double)bytes;
		walker->waste_asked = bytes;
	}
	if (options[WASTE].value != 0 &&
	    (double)usable > options[WASTE].value * (double)bytes + options[WASTE_SLACK].value)
		walk_fail("%zu bytes usable, %zu asked for", usable, bytes);
}

/*
 * Makes the busy slot full with `address`, which the allocator returned for `bytes`.  Checks
 * alignment, usable bytes and overlap, and writes the pattern.
 */
static void adopt(struct walker *walker, struct slot *slot, void *address, size_t bytes,
		  size_t alignment)
{
	struct held *held = &slot->held;
	size_t usable = malloc_usable_size(address);

	if ((uintptr_t)address % (alignment > 16 ? alignment : 16) != 0)
		walk_fail("%zu bytes at %p, alignment %zu", bytes, address, alignment);
	/* With larger alignments libc serves, and wastes what it likes. */
	if (alignment <= PAGE)
		check_usable(walker, bytes, usable);
	if (!shadow_claim(address, usable))
		walk_fail("%zu bytes (%zu usable) at %p overlap a block in use", bytes, usable,
			  address);
	/* A program may use all of malloc_usable_size(). */
	if (draw(walker) % 4 == 0)
		bytes = usable;
	bool dense = bytes < DENSE_MOST && draw(walker) % DENSE == 0;
	held->address = address;
	held->usable = usable;
	held->pattern = pattern_for(address, bytes, draw(walker), dense ? SIZE_MAX : MARKED);
	pattern_write(&held->pattern, address);

	size_t more = pattern_touches(&held->pattern);
	size_t now = atomic_fetch_add(&touched, more) + more, top = touched_top;
	while (now > top && !atomic_compare_exchange_weak(&touched_top, &top, now))
		;
	slot->state = SLOT_FULL;
}

/* Checks that its first `bytes`, now at `address`, hold the pattern. */
static void check(const struct held *held, const char *address, size_t bytes)
{
	size_t wrong = pattern_wrong_at(&held->pattern, address, bytes);

	if (wrong != SIZE_MAX)
		walk_fail("block of %zu bytes at %p, written at %p: wrong at byte %zu of %zu",
			  held->pattern.bytes, (const void *)address, (void *)held->pattern.origin,
			  wrong, bytes);
}

/* Checks and releases the block of a busy slot: the allocator may have it back. */
static void disown(struct walker *walker, struct slot *slot)
{
	struct held *held = &slot->held;

	check(held, held->address, held->pattern.bytes);
	if (!shadow_release(held->address, held->usable))
		walk_fail("%zu bytes at %p were not all this block's", held->usable,
			  (void *)held->address);
	atomic_fetch_sub(&touched, pattern_touches(&held->pattern));
	walker->freed[walker->freed_next++ % FREED] = held->pattern.bytes;
}

/* Functions that allocate; those without alignment ignore it. */

static void *ask_malloc(size_t bytes, size_t alignment)
{
	(void)alignment;
	return malloc(bytes);
}

/* The alignment is the size of an element.  If it does not divide `bytes`, fewer are allocated. */
static void *ask_calloc(size_t bytes, size_t each)
{
	return calloc(bytes / each, each);
}

static void *ask_realloc(size_t bytes, size_t alignment)
{
	(void)alignment;
	return realloc(NULL, bytes);
}

static void *ask_reallocarray(size_t bytes, size_t alignment)
{
	(void)alignment;
	return reallocarray(NULL, bytes, 1);
}

static void *ask_memalign(size_t bytes, size_t alignment)
{
	return memalign(alignment, bytes);
}

static void *ask_aligned_alloc(size_t bytes, size_t alignment)
{
	/* C asks for a multiple of the alignment, and so does AddressSanitizer; glibc does not. */
	return aligned_alloc(alignment, SANITIZED ? (bytes + alignment - 1) & -alignment : bytes);
}

static void *ask_posix_memalign(size_t bytes, size_t alignment)
{
	void *block = NULL;
	int error = posix_memalign(&block, alignment, bytes);

	if (error != 0)
		errno = error;
	return block;
}

static void *ask_valloc(size_t bytes, size_t alignment)
{
	(void)alignment;
	return valloc(bytes);
}

static void *ask_pvalloc(size_t bytes, size_t alignment)
{
	(void)alignment;
	return pvalloc(bytes);
}

static void expect_refusal(size_t bytes)
{
	if (errno != ENOMEM || bytes < MAY_BE_REFUSED)
		walk_fail("%zu bytes refused: %s", bytes, strerror(errno));
	refused++;
}

/* Allocates by this step's kind.  NULL if it was refused; then the busy slot is empty. */
static void *ask(struct walker *walker, struct slot *slot, size_t bytes, size_t alignment)
{
	errno = 0;
	void *block = walker->kind->ask(bytes, alignment);

	if (block == NULL) {
		expect_refusal(bytes);
		slot->state = SLOT_EMPTY;
	}
	return block;
}

static void allocate(struct walker *walker, struct slot *slot, size_t bytes, size_t alignment)
{
	void *block = ask(walker, slot, bytes, alignment);

	/* Bytes up to the size that pvalloc() rounds up to may be used. */
	if (walker->kind->ask == ask_pvalloc)
		bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	if (block != NULL)
		adopt(walker, slot, block, bytes, alignment);
}

static void free_keeping_errno(void *address)
{
	errno = 4711;
	free(address);
	if (errno != 4711)
		walk_fail("free(%p) left errno %d", address, errno);
}

static void do_alloc(struct walker *walker, struct slot *slot)
{
	allocate(walker, slot, some_size(walker), 0);
}

static void do_calloc(struct walker *walker, struct slot *slot)
{
	static const size_t sizes[] = { 1, 2, 3, 8, 24, 100, 4096, 65536 };
	size_t bytes = some_size(walker), each = sizes[draw(walker) % 8];

	if (each > bytes)
		each = 1;
	char *block = ask(walker, slot, bytes, each);
	if (block == NULL)
		return;
	bytes -= bytes % each;

	/* A large block is only sometimes read completely, because that creates its pages. */
	bool all = bytes <= 512 * KIB || (bytes <= 32 * MIB && draw(walker) % 16 == 0);
	if (!pattern_is_zero(block, bytes, 1 + bytes / (64 * MIB), all))
		walk_fail("calloc of %zu bytes is not zero", bytes);
	adopt(walker, slot, block, bytes, 0);
}

static void do_aligned(struct walker *walker, struct slot *slot)
{
	/* Up to 8 MiB, and mostly small. */
	size_t least = walker->kind->ask == ask_posix_memalign ? sizeof(void *) : 1;
	size_t alignment = (size_t)1 << draw(walker) % (draw(walker) % 4 ? 14 : 24);

	allocate(walker, slot, some_size(walker), alignment < least ? least : alignment);
}

static void do_pages(struct walker *walker, struct slot *slot)
{
	allocate(walker, slot, some_size(walker), PAGE);
}

static void do_free(struct walker *walker, struct slot *slot)
{
	disown(walker, slot);
	free_keeping_errno(slot->held.address);
	slot->state = SLOT_EMPTY;
}

/* Frees a block and allocates its size again, three times, as a loop does. */
static void do_again(struct walker *walker, struct slot *slot)
{
	size_t bytes = slot->held.pattern.bytes;

	for (int turn = 0; turn < 3 && slot->state != SLOT_EMPTY; turn++) {
		slot->state = SLOT_BUSY;
		disown(walker, slot);
		free_keeping_errno(slot->held.address);
		allocate(walker, slot, bytes, 0);
	}
}

static void do_free_of_nothing(struct walker *walker, struct slot *slot)
{
	(void)walker, (void)slot;
	free_keeping_errno(NULL);
}

static void resize(struct walker *walker, struct slot *slot, bool as_array)
{
	struct held before = slot->held;
	size_t bytes = some_size(walker);
	if (draw(walker) % 2)
		bytes = before.pattern.bytes / 2 + bytes % (before.pattern.bytes + 1) + 1;
	disown(walker, slot);
	errno = 0;
	void *block =
		as_array ? reallocarray(before.address, 1, bytes) : realloc(before.address, bytes);
	if (block != NULL) {
		check(&before, block, bytes);
		adopt(walker, slot, block, bytes, 0);
		return;
	}
	expect_refusal(bytes);
	check(&before, before.address, before.pattern.bytes);
	adopt(walker, slot, before.address, before.pattern.bytes, 0);
}

static void do_realloc(struct walker *walker, struct slot *slot)
{
	resize(walker, slot, false);
}

static void do_reallocarray(struct walker *walker, struct slot *slot)
{
	resize(walker, slot, true);
}

/* With glibc this frees the block. */
static void do_realloc_to_nothing(struct walker *walker, struct slot *slot)
{
	disown(walker, slot);
	kept_from_compiler = realloc(slot->held.address, 0);
	if (kept_from_compiler != NULL)
		walk_fail("realloc(%p, 0) is %p", (void *)slot->held.address, kept_from_compiler);
	slot->state = SLOT_EMPTY;
}

/* The usable size is unchanged, and the block has its contents. */
static void do_look(struct walker *walker, struct slot *slot)
{
	const struct held *held = &slot->held;

	(void)walker;
	if (malloc_usable_size(held->address) != held->usable)
		walk_fail("%zu bytes usable at %p, first it was %zu",
			  malloc_usable_size(held->address), (void *)held->address, held->usable);
	check(held, held->address, held->pattern.bytes);
	slot->state = SLOT_FULL;
	if (malloc_usable_size(NULL) != 0)
		walk_fail("NULL has a usable size");
}

static void move(struct slot *from, struct slot *to)
{
	to->held = from->held;
	to->state = SLOT_FULL;
	from->state = SLOT_EMPTY;
}

/* Puts a block into a mailbox. */
static void do_send(struct walker *walker, struct slot *slot)
{
	struct slot *box = &mailboxes[below(walker, MAILBOXES)];

	if (claim(box, SLOT_EMPTY))
		move(slot, box);
	else
		slot->state = SLOT_FULL;
}

static void do_receive(struct walker *walker, struct slot *slot)
{
	struct slot *box = &mailboxes[below(walker, MAILBOXES)];

	if (claim(box, SLOT_FULL))
		move(box, slot);
	else
		slot->state = SLOT_EMPTY;
}

/* clang-format off */
static const struct kind kinds[] = {
	{ "malloc",            260, SLOT_EMPTY, do_alloc, ask_malloc },
	{ "calloc",            100, SLOT_EMPTY, do_calloc, ask_calloc },
	{ "realloc",            90, SLOT_FULL, do_realloc, NULL },
	{ "reallocarray",       30, SLOT_FULL, do_reallocarray, NULL },
	{ "free",              240, SLOT_FULL, do_free, NULL },
	{ "again",              60, SLOT_FULL, do_again, ask_malloc },
	{ "memalign",           20, SLOT_EMPTY, do_aligned, ask_memalign },
	{ "aligned_alloc",      20, SLOT_EMPTY, do_aligned, ask_aligned_alloc },
	{ "posix_memalign",     30, SLOT_EMPTY, do_aligned, ask_posix_memalign },
	{ "valloc",             10, SLOT_EMPTY, do_pages, ask_valloc },
	{ "pvalloc",            10, SLOT_EMPTY, do_pages, ask_pvalloc },
	{ "usable size",        30, SLOT_FULL, do_look, NULL },
	{ "realloc(NULL)",      10, SLOT_EMPTY, do_alloc, ask_realloc },
	{ "reallocarray(NULL)", 10, SLOT_EMPTY, do_alloc, ask_reallocarray },
	{ "realloc(0)",          8, SLOT_FULL, do_realloc_to_nothing, NULL },
	{ "free(NULL)",          2, SLOT_BUSY, do_free_of_nothing, NULL },
	{ "sent",              130, SLOT_FULL, do_send, NULL },
	{ "received",          130, SLOT_EMPTY, do_receive, NULL },
};
/* clang-format on */

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void take_step(struct walker *walker)
{
	size_t i = random_row(&walker->random, &kinds->weight, sizeof(*kinds), KINDS);
	const struct kind *kind = &kinds[i];
	struct slot *slot = NULL;

	walker->kind = kind;
	walker->counts[i]++;
	walker->step++;
	if (kind->needs == SLOT_EMPTY && touched >= option(MOST_TOUCHED))
		return;
	if (kind->needs != SLOT_BUSY)
		slot = pick(walker, kind->needs);
	if (slot != NULL || kind->needs == SLOT_BUSY)
		kind->take(walker, slot);
}

static void live(struct walker *walker, uint64_t steps)
{
	self = walker;
	for (; steps > 0 && walker->steps_left > 0 && !stop; steps--, walker->steps_left--)
		take_step(walker);
	self = NULL;
}

static void *life(void *arg);

static void be_born(struct walker *walker)
{
	pthread_t thread;
	int error = pthread_create(&thread, NULL, life, walker);

	if (error != 0)
		walk_fail("no thread: %s", strerror(error));
	pthread_detach(thread);
}

static void *life(void *arg)
{
	struct walker *walker = arg;

	live(walker, LIFE);
	if (walker->steps_left > 0 && !stop)
		be_born(walker);
	else
		atomic_fetch_sub(&running, 1);
	return NULL;
}

static void start(unsigned threads)
{
	stop = false;
	running = threads;
	for (unsigned i = 0; i < threads; i++)
		be_born(&walkers[i]);
}

/* Lets the other threads continue; the test's alarm ends a walk that hangs. */
static void let_others_work(void)
{
	syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 500000 }, NULL);
}

static uint64_t steps_of_all(void)
{
	uint64_t steps = 0;

	for (int i = 0; i <= WALKERS; i++)
		steps += walkers[i].step;
	return steps;
}

/* Waits until all threads together have made `steps` more, or all of theirs. */
static void await(uint64_t steps)
{
	uint64_t until = steps_of_all() + steps;

	while (running > 0 && steps_of_all() < until)
		let_others_work();
}

static void await_end(void)
{
	while (running > 0)
		let_others_work();
}

/* Visits each full slot once. */
static size_t each(void (*visit)(struct slot *slot))
{
	size_t count = 0;

	for (int i = 0; i <= WALKERS; i++)
		for (int slot = 0; slot < SLOTS; slot++)
			if (walkers[i].slots[slot].state == SLOT_FULL)
				visit(&walkers[i].slots[slot]), count++;
	for (int i = 0; i < MAILBOXES; i++)
		if (mailboxes[i].state == SLOT_FULL)
			visit(&mailboxes[i]), count++;
	return count;
}

static void check_slot(struct slot *slot)
{
	check(&slot->held, slot->held.address, slot->held.pattern.bytes);
}

static void drop_slot(struct slot *slot)
{
	do_free(&walkers[WALKERS], slot);
}

static void go_alone(uint64_t steps)
{
	stop = false;
	walkers[WALKERS].steps_left = steps;
	live(&walkers[WALKERS], steps);
}

static void report(void)
{
	uint64_t all = 0;

	for (unsigned kind = 0; kind < KINDS; kind++) {
		uint64_t count = 0;

		for (int i = 0; i <= WALKERS; i++)
			count += walkers[i].counts[kind];
		all += count;
		printf("%s%s %llu",
		       kind % 6 != 0 ? ", "
		       : kind != 0   ? ",\n# "
				     : "# ",
		       kinds[kind].name, (unsigned long long)count);
	}
	const struct walker *worst = walkers;
	for (const struct walker *at = walkers; at <= walkers + WALKERS; at++)
		worst = at->waste_most > worst->waste_most ? at : worst;
	printf("\n# %llu operations, %zu MiB touched at most; usable / asked at most %.4f (of %zu)\n",
	       (unsigned long long)all, touched_top / MIB, worst->waste_most, worst->waste_asked);
	fflush(stdout);
}

/*
 * In the child of a fork during the walk: all blocks, of any owner, are right.  The calling thread
 * makes some steps before it frees them all, and as many after; so do new threads.
 */
static void be_child(void)
{
	alarm(check_limit(120));
	each(check_slot);
	go_alone(STEPS_IN_CHILD);
	each(drop_slot);
	go_alone(STEPS_IN_CHILD);
	for (int i = 0; i < 2; i++)
		walkers[i].steps_left = STEPS_IN_CHILD;
	start(2);
	await_end();
	each(check_slot);
	_exit(0);
}

static void expect_success(pid_t child, const char *what)
{
	int status = -1;

	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		walk_fail("%s: status %x", what, (unsigned)status);
}

/* With a sanitizer's allocator behind ours, the child may wait for a lock that a thread held. */
static bool forks_work(void)
{
	return !preload_is_linked();
}

static void fork_in_the_middle(void)
{
	pid_t child = fork();

	if (child == 0)
		be_child();
	expect_success(child, "child of fork()");
	forks++;
}

static void free_it(void *block)
{
	free(block);
}

static void resize_it_to_nothing(void *block)
{
	kept_from_compiler = realloc(block, 0);
}

static void resize_it_up_and_free(void *block)
{
	free(realloc(block, LEAK_BYTES * 5 / 2));
}

static void resize_it_down_and_free(void *block)
{
	free(realloc(block, 300 * KIB));
}

/* Blocks that are freed in any way serve the next allocation. */
static void look_for_leaks(void)
{
	static void (*const ways[])(void *) = { free_it, resize_it_to_nothing,
						resize_it_up_and_free, resize_it_down_and_free };
	size_t before = memory_resident();

	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		for (int i = 0; i < LEAK_TURNS; i++) {
			char *block = malloc(LEAK_BYTES);

			if (block == NULL)
				walk_fail("no block of %zu bytes", LEAK_BYTES);
			memset(block, 1, LEAK_BYTES);
			ways[way](block);
		}
		if (memory_resident() > before + LEAK_TURNS / 2 * LEAK_BYTES)
			walk_fail("%zu MiB resident, they were %zu (way %u)",
				  memory_resident() / MIB, before / MIB, way);
	}
}

static void spawn_in_the_middle(void)
{
	char *const words[] = { (char *)"true", NULL };
	pid_t child;

	if (spawns++ % 2 == 0) {
		int error = posix_spawnp(&child, "true", NULL, NULL, words, environ);

		expect_success(error == 0 ? child : -1, "posix_spawnp()");
		return;
	}
	child = vfork();
	if (child == 0) {
		execvp("true", words);
		_exit(127);
	}
	expect_success(child, "vfork() and execvp()");
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* No two turns have the same sizes: each lock is taken by some thread. */
static void use_memory(unsigned from, unsigned turns)
{
	for (unsigned i = from; i < from + turns; i++) {
		char *block = malloc(200 * KIB + i % 97 * 8 * KIB), *small = malloc(1 + i % 977);

		if (block == NULL || small == NULL)
			walk_fail("no block of %zu bytes", 200 * KIB + i % 97 * 8 * KIB);
		block[0] = small[0] = 1;
		free(block);
		free(small);
	}
}

static void *be_one_of_many(void *arg)
{
	for (unsigned turn = (unsigned)(uintptr_t)arg * 7; !crowd_stops; turn++)
		use_memory(turn, 1);
	return NULL;
}

/* A small process can fork often: sometimes while a thread has just taken a lock. */
static void fork_during_a_crowd(void)
{
	pthread_t threads[CROWD];

	for (uintptr_t i = 0; i < CROWD; i++)
		if (pthread_create(&threads[i], NULL, be_one_of_many, (void *)i) != 0)
			walk_fail("no thread");
	for (int i = 0; i < CROWD_FORKS; i++) {
		pid_t child = fork();

		if (child == 0) {
			alarm(check_limit(60));
			use_memory(0, 40);
			_exit(0);
		}
		expect_success(child, "child of fork() during a crowd");
		forks++;
	}
	crowd_stops = true;
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	begin();
	alarm(check_limit((unsigned)option(SECONDS) * 4 + 600));
	/* The plan comes first, so that ending early is a failure. */
	printf("1..1\n");
	fflush(stdout);

	if (forks_work())
		fork_during_a_crowd();
	uint64_t begun = now_ms(), end = begun + option(SECONDS) * 1000;
	start((unsigned)option(THREADS));
	while (running > 0 && (option(SECONDS) == 0 || now_ms() < end)) {
		await(FORK_EVERY);
		if (forks_work())
			fork_in_the_middle();
		spawn_in_the_middle();
	}
	stop = true;
	await_end();
	size_t left = each(drop_slot);
	if (touched != 0)
		walk_fail("%zu bytes were lost", touched);
	report();
	malloc_trim(0);
	look_for_leaks();
	printf("# %zu MiB resident at the end\n", memory_resident() / MIB);
	printf("# %llu forks, %llu spawned, %llu refusals, %zu blocks at the end, %.1f s\n",
	       (unsigned long long)forks, (unsigned long long)spawns, (unsigned long long)refused,
	       left, (double)(now_ms() - begun) / 1000);
	printf("ok 1 - every block held what was written to it\n");
	return 0;
}
