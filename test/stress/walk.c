/*
 * walk.c - threads that make random steps, each with blocks of its own and with shared mailboxes.
 *
 * A thread's choices follow from the seed and its number alone.  What it gets from a mailbox, and
 * whether memory is left, depends on the other threads.  With one thread a walk repeats exactly.
 */
#include "walk.h"

#include "random.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAILBOXES  64

/* One in DENSE blocks below DENSE_MOST bytes carries marks in all of its pages. */
#define DENSE      16
#define DENSE_MOST (8 * MIB)

/* Other blocks have marks in so many pages. */
#define MARKED     64

/*
 * A thread ends after so many steps and a new one starts, because allocators keep state for each
 * thread.
 */
#define LIFE       6000

struct walk_options walk_options = {
	.seed = 1,
	.threads = 16,
	.touched_most = 2 * GIB,
	.size_least = 1,
	.size_most = GIB,
	.waste_from = 256 * KIB,
};
struct walker walkers[WALKERS + 1]; /* one more for the child of a fork */
_Atomic size_t walk_touched, walk_touched_top;

static struct slot mailboxes[MAILBOXES];
static _Atomic bool stop;
static _Atomic unsigned running;
static size_t kinds; /* number of kinds; set by walk_begin() */
static __thread struct walker *self;

static int say_where(char *text, size_t room)
{
	unsigned long long seed = walk_options.seed;

	if (self == NULL)
		return snprintf(text, room, "seed %llu, no walker: ", seed);
	return snprintf(text, room, "seed %llu, thread %d, step %llu, %s: ", seed, self->index,
			(unsigned long long)self->step, walk_options.kinds[self->kind].name);
}

void walk_fail(const char *format, ...)
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

static struct option_row {
	const char *name;
	void *field;
	enum { UNSIGNED, LONG, REAL } type;
} rows[] = {
	{ "--seconds=", &walk_options.seconds, UNSIGNED },
	{ "--threads=", &walk_options.threads, UNSIGNED },
	{ "--operations=", &walk_options.operations, LONG },
	{ "--seed=", &walk_options.seed, LONG },
	{ "--max=", &walk_options.touched_most, LONG },
	{ "--least=", &walk_options.size_least, LONG },
	{ "--largest=", &walk_options.size_most, LONG },
	{ "--waste=", &walk_options.waste, REAL },
	{ "--waste-from=", &walk_options.waste_from, LONG },
	{ "--waste-slack=", &walk_options.waste_slack, LONG },
};

static bool read_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 0);
	if (*end == 'K' || *end == 'M' || *end == 'G')
		*ret <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 30, end++;
	return errno == 0 && end != text && *end == '\0';
}

static bool parse_one(const char *word)
{
	for (struct option_row *row = rows; row < rows + sizeof(rows) / sizeof(rows[0]); row++) {
		size_t length = strlen(row->name);
		uint64_t number = 0;
		char *end = NULL;

		if (strncmp(word, row->name, length) != 0)
			continue;
		if (row->type == REAL) {
			*(double *)row->field = strtod(word + length, &end);
			return end != word + length && *end == '\0';
		}
		if (!read_number(word + length, &number))
			return false;
		if (row->type == UNSIGNED)
			*(unsigned *)row->field = (unsigned)number;
		else
			*(uint64_t *)row->field = number;
		return true;
	}
	return false;
}

void walk_parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (parse_one(argv[i]))
			continue;
		fprintf(stderr, "%s: cannot read '%s'; there are", argv[0], argv[i]);
		for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
			fprintf(stderr, " %s", rows[row].name);
		fprintf(stderr, "\n");
		exit(2);
	}
	if (walk_options.threads < 1 || walk_options.threads > WALKERS ||
	    walk_options.size_least < 1 || walk_options.size_most < walk_options.size_least) {
		fprintf(stderr, "%s: 1 to %d threads, sizes from 1 on\n", argv[0], WALKERS);
		exit(2);
	}
}

void walk_begin(void)
{
	static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGALRM };

	if (!shadow_start())
		walk_fail("no addresses for the shadow");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], on_signal);
	for (kinds = 0; walk_options.kinds[kinds].name != NULL;)
		kinds++;
	for (int i = 0; i <= WALKERS; i++) {
		walkers[i].index = i;
		walkers[i].random = random_mix(walk_options.seed) + (uint64_t)i;
		walkers[i].steps_left = walk_options.operations ?: UINT64_MAX;
	}
	printf("# seed %llu, %u threads, sizes %zu to %zu, %zu MiB touched at most\n",
	       (unsigned long long)walk_options.seed, walk_options.threads, walk_options.size_least,
	       walk_options.size_most, walk_options.touched_most / MIB);
	fflush(stdout);
}

uint64_t walk_random(struct walker *walker)
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

	if (walk_random(walker) % 4 == 0)
		by = below(walker, bytes / 8 + 1);
	return walk_random(walker) % 2 ? bytes + by : bytes > by ? bytes - by : 1;
}

/* Each power of two, and the sizes up to the next, is equally frequent. */
static size_t log_uniform(struct walker *walker, size_t least, size_t most)
{
	if (most > walk_options.size_most)
		most = walk_options.size_most;

	unsigned low = 63u - (unsigned)__builtin_clzl(least);
	unsigned high = 63u - (unsigned)__builtin_clzl(most);
	size_t power = (size_t)1 << (low + below(walker, high - low + 1));

	return power + below(walker, power);
}

size_t walk_size(struct walker *walker)
{
	static const size_t borders[] = { 128 * KIB, 256 * KIB, 256 * KIB, 512 * KIB,
					  MIB,       2 * MIB,   2 * MIB,   32 * MIB };
	size_t least = walk_options.size_least, most = walk_options.size_most, bytes;
	unsigned chance = (unsigned)below(walker, 1000);

	if (chance < 450)
		bytes = log_uniform(walker, least, least < 64 * KIB ? 64 * KIB : 4 * MIB);
	else if (chance < 550)
		bytes = near(walker, borders[below(walker, sizeof(borders) / sizeof(borders[0]))]);
	else if (chance < 800)
		bytes = near(walker, walker->freed[below(walker, WALK_FREED)] ?: 256 * KIB);
	else if (chance < 850)
		bytes = ((size_t)1 << below(walker, 26)) + below(walker, 3) - 1;
	else if (chance < 996)
		bytes = log_uniform(walker, least, 32 * MIB);
	else
		bytes = chance == 999 ? most - below(walker, 3) : log_uniform(walker, least, most);
	return bytes < least ? least : bytes > most ? most : bytes;
}

struct slot *walk_slot(struct walker *walker)
{
	if (walk_touched >= walk_options.touched_most)
		return NULL;
	for (size_t i = 0, at = below(walker, WALK_SLOTS); i < WALK_SLOTS / 2; i++) {
		struct slot *slot = &walker->slots[(at + i) % WALK_SLOTS];

		if (slot->state == SLOT_EMPTY) {
			slot->state = SLOT_BUSY;
			return slot;
		}
	}
	return NULL;
}

struct slot *walk_any(struct walker *walker)
{
	for (size_t i = 0, at = below(walker, WALK_SLOTS); i < WALK_SLOTS; i++) {
		struct slot *slot = &walker->slots[(at + i) % WALK_SLOTS];

		if (slot->state == SLOT_FULL) {
			slot->state = SLOT_BUSY;
			return slot;
		}
	}
	return NULL;
}

static void check_usable(struct walker *walker, size_t bytes, size_t usable)
{
	if (usable < bytes)
		walk_fail("%zu bytes usable of %zu", usable, bytes);
	if (bytes < walk_options.waste_from)
		return;
	if ((double)usable > walker->waste_most * (double)bytes) {
		walker->waste_most = (double)usable / (double)bytes;
		walker->waste_asked = bytes;
	}
	if (walk_options.waste != 0 &&
	    (double)usable > walk_options.waste * (double)bytes + (double)walk_options.waste_slack)
		walk_fail("%zu bytes usable, %zu asked for", usable, bytes);
}

walk_ask_fn walk_ask_of(const struct walker *walker)
{
	return walk_options.kinds[walker->kind].ask;
}

void *walk_ask(struct walker *walker, struct slot *slot, size_t bytes, size_t alignment)
{
	errno = 0;
	void *block = walk_ask_of(walker)(bytes, alignment);

	if (block == NULL) {
		walk_options.refuse(bytes);
		slot->state = SLOT_EMPTY;
	}
	return block;
}

void walk_adopt(struct walker *walker, struct slot *slot, void *address, size_t bytes,
		size_t alignment)
{
	struct held *held = &slot->held;
	size_t usable = walk_options.usable(address, bytes);

	if ((uintptr_t)address % (alignment > 16 ? alignment : 16) != 0)
		walk_fail("%zu bytes at %p, alignment %zu", bytes, address, alignment);
	/* With larger alignments libc serves, and wastes what it likes. */
	if (alignment <= PAGE)
		check_usable(walker, bytes, usable);
	if (!shadow_claim(address, usable))
		walk_fail("%zu bytes (%zu usable) at %p overlap a block in use", bytes, usable,
			  address);
	/* A program may use all of malloc_usable_size(). */
	if (walk_random(walker) % 4 == 0)
		bytes = usable;
	bool dense = bytes < DENSE_MOST && walk_random(walker) % DENSE == 0;
	held->address = address;
	held->usable = usable;
	held->pattern = pattern_for(address, bytes, walk_random(walker), dense ? SIZE_MAX : MARKED);
	pattern_write(&held->pattern, address);

	size_t touched = pattern_touches(&held->pattern);
	size_t now = atomic_fetch_add(&walk_touched, touched) + touched, top = walk_touched_top;
	while (now > top && !atomic_compare_exchange_weak(&walk_touched_top, &top, now))
		;
	slot->state = SLOT_FULL;
}

void walk_check(const struct held *held, const char *address, size_t bytes)
{
	size_t wrong = pattern_wrong_at(&held->pattern, address, bytes);

	if (wrong != SIZE_MAX)
		walk_fail("block of %zu bytes at %p, written at %p: wrong at byte %zu of %zu",
			  held->pattern.bytes, (const void *)address, (void *)held->pattern.origin,
			  wrong, bytes);
}

void walk_disown(struct walker *walker, struct slot *slot)
{
	struct held *held = &slot->held;

	walk_check(held, held->address, held->pattern.bytes);
	if (!shadow_release(held->address, held->usable))
		walk_fail("%zu bytes at %p were not all this block's", held->usable,
			  (void *)held->address);
	atomic_fetch_sub(&walk_touched, pattern_touches(&held->pattern));
	walker->freed[walker->freed_next++ % WALK_FREED] = held->pattern.bytes;
}

void walk_keep(struct slot *slot)
{
	slot->state = SLOT_FULL;
}

void walk_forget(struct slot *slot)
{
	slot->state = SLOT_EMPTY;
}

static bool pass(struct slot *from, struct slot *to)
{
	int empty = SLOT_EMPTY, full = SLOT_FULL;

	if (!atomic_compare_exchange_strong(&to->state, &empty, SLOT_BUSY))
		return false;
	if (!atomic_compare_exchange_strong(&from->state, &full, SLOT_BUSY)) {
		to->state = SLOT_EMPTY;
		return false;
	}
	to->held = from->held;
	to->state = SLOT_FULL;
	from->state = SLOT_EMPTY;
	return true;
}

void walk_send(struct walker *walker)
{
	struct slot *slot = walk_any(walker);

	if (slot == NULL)
		return;
	slot->state = SLOT_FULL;
	pass(slot, &mailboxes[below(walker, MAILBOXES)]);
}

void walk_receive(struct walker *walker)
{
	struct slot *slot = walk_slot(walker);

	if (slot == NULL)
		return;
	slot->state = SLOT_EMPTY;
	pass(&mailboxes[below(walker, MAILBOXES)], slot);
}

void walk_free(struct walker *walker)
{
	struct slot *slot = walk_any(walker);

	if (slot == NULL)
		return;
	walk_disown(walker, slot);
	walk_options.give(slot->held.address);
	slot->state = SLOT_EMPTY;
}

void walk_again(struct walker *walker)
{
	struct slot *slot = walk_any(walker);

	if (slot == NULL)
		return;
	size_t bytes = slot->held.pattern.bytes;
	for (int turn = 0; turn < 3; turn++) {
		slot->state = SLOT_BUSY;
		walk_disown(walker, slot);
		walk_options.give(slot->held.address);
		void *block = walk_ask(walker, slot, bytes, 0);
		if (block == NULL)
			return;
		walk_adopt(walker, slot, block, bytes, 0);
	}
}

static void take_step(struct walker *walker)
{
	const struct walk_kind *first = walk_options.kinds;
	size_t kind = random_row(&walker->random, &first->weight, sizeof(*first), kinds);

	walker->kind = (unsigned)kind;
	first[kind].take(walker);
	walker->counts[kind]++;
	walker->step++;
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

void walk_start(void)
{
	running = walk_options.threads;
	for (unsigned i = 0; i < walk_options.threads; i++)
		be_born(&walkers[i]);
}

bool walk_is_over(void)
{
	return running == 0;
}

uint64_t walk_steps(void)
{
	uint64_t steps = 0;

	for (int i = 0; i <= WALKERS; i++)
		steps += walkers[i].step;
	return steps;
}

/* Lets the other threads continue; the test's alarm ends a walk that hangs. */
static void let_others_work(void)
{
	syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 500000 }, NULL);
}

void walk_await(uint64_t steps)
{
	uint64_t until = walk_steps() + steps;

	while (!walk_is_over() && walk_steps() < until)
		let_others_work();
}

void walk_stop(void)
{
	stop = true;
	while (running > 0)
		let_others_work();
}

void walk_restart(unsigned threads, uint64_t steps)
{
	stop = false;
	running = threads;
	for (unsigned i = 0; i < threads; i++) {
		walkers[i].steps_left = steps;
		be_born(&walkers[i]);
	}
	while (running > 0)
		let_others_work();
}

/* Visits each full slot once. */
static size_t each(void (*visit)(struct slot *slot))
{
	size_t count = 0;

	for (int i = 0; i <= WALKERS; i++)
		for (int slot = 0; slot < WALK_SLOTS; slot++)
			if (walkers[i].slots[slot].state == SLOT_FULL)
				visit(&walkers[i].slots[slot]), count++;
	for (int i = 0; i < MAILBOXES; i++)
		if (mailboxes[i].state == SLOT_FULL)
			visit(&mailboxes[i]), count++;
	return count;
}

static void check(struct slot *slot)
{
	walk_check(&slot->held, slot->held.address, slot->held.pattern.bytes);
}

static void drop(struct slot *slot)
{
	walk_disown(&walkers[WALKERS], slot);
	walk_options.give(slot->held.address);
	slot->state = SLOT_EMPTY;
}

size_t walk_check_all(void)
{
	return each(check);
}

size_t walk_drop_all(void)
{
	return each(drop);
}

static void go_alone(uint64_t steps)
{
	stop = false;
	walkers[WALKERS].steps_left = steps;
	live(&walkers[WALKERS], steps);
}

void walk_alone(uint64_t steps)
{
	walk_check_all();
	go_alone(steps);
	walk_drop_all();
	go_alone(steps);
}

void walk_report(void)
{
	uint64_t all = 0;

	for (unsigned kind = 0; kind < kinds; kind++) {
		uint64_t count = 0;

		for (int i = 0; i <= WALKERS; i++)
			count += walkers[i].counts[kind];
		all += count;
		printf("%s%s %llu",
		       kind % 6 != 0 ? ", "
		       : kind != 0   ? ",\n# "
				     : "# ",
		       walk_options.kinds[kind].name, (unsigned long long)count);
	}
	const struct walker *worst = walkers;
	for (const struct walker *at = walkers; at <= walkers + WALKERS; at++)
		worst = at->waste_most > worst->waste_most ? at : worst;
	printf("\n# %llu operations, %zu MiB touched at most; usable / asked at most %.4f (of %zu)\n",
	       (unsigned long long)all, walk_touched_top / MIB, worst->waste_most,
	       worst->waste_asked);
	fflush(stdout);
}
