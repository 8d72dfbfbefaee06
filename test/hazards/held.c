/*
 * held.c - everything that returns natively while a kernel waits for the program returns under the
 * library, too.
 *
 *	held on|off|plain, --list, --run NAME...    as hazards.c has them; hazards.py takes it too
 *
 * A kernel runs until the host has written a word; the program does one thing, and then writes it.
 * Under the library each row first runs itself without, in a process of its own: what returned
 * there while the stream was held must return here; what did not may.  On a device what waits
 * for the kernel is let go after a while.  On the stand-in a thread that waits for a kernel runs
 * its twin: the twin itself tells that somebody waits, and no clock decides.  The kernel gives up
 * after a while by itself, so that nothing hangs, and says so.
 *
 * row  which stream is held            in modes of the library
 *   1  a non-blocking one              row01_*
 *   2  a blocking one                  row02_*
 *   3  the thread's own                row03_*
 *   4  the legacy one                  row04_*
 *
 * Of other modes than the default each row has a third of the copies.  Left out is what
 * doc/limits.md says of unpinning at the program's own bidding.
 */
#include "held.h"

#include <fcntl.h>
#include <time.h>

#define ACTIONS_MOST 512

CUstream other, third;
bool thorough;

static CUstream holder;
/* In host memory: [0] lets the kernel end, [1] says that it gave up. */
static volatile uint32_t *word;
static CUfunction holds_on;

/* The results without the library. */
static struct answer {
	char name[64];
	bool back;
} answers[ACTIONS_MOST];
static unsigned answered;

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool armed;
	unsigned turn; /* how often it was armed */
	struct timespec end;
} cutter = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

/* Writes the word when the time is over. */
static void *cut(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&cutter.lock);
	for (;;) {
		unsigned turn = cutter.turn;

		/* On a busy machine, the next turn may begin before this thread sees the end. */
		if (!cutter.armed) {
			pthread_cond_wait(&cutter.changed, &cutter.lock);
		} else if (pthread_cond_timedwait(&cutter.changed, &cutter.lock, &cutter.end) ==
				   ETIMEDOUT &&
			   cutter.armed && cutter.turn == turn) {
			word[0] = 2;
			cutter.armed = false;
		}
	}
	return NULL;
}

static void arm(unsigned ms)
{
	pthread_mutex_lock(&cutter.lock);
	clock_gettime(CLOCK_REALTIME, &cutter.end);
	cutter.end.tv_nsec += ms % 1000 * 1000000;
	cutter.end.tv_sec += ms / 1000 + cutter.end.tv_nsec / 1000000000;
	cutter.end.tv_nsec %= 1000000000;
	cutter.armed = true;
	cutter.turn++;
	pthread_cond_signal(&cutter.changed);
	pthread_mutex_unlock(&cutter.lock);
}

/* Lets the kernel end.  True if it was held until now. */
static bool let_go(void)
{
	pthread_mutex_lock(&cutter.lock);
	bool was = cutter.armed;
	cutter.armed = false;
	word[0] = 1;
	pthread_mutex_unlock(&cutter.lock);
	return was;
}

CUstream kind_stream(enum stream_kind kind)
{
	return kind == SAME    ? holder
	       : kind == OTHER ? other
	       : kind == OWN   ? CU_STREAM_PER_THREAD
			       : NULL;
}

bool kind_is_held(enum stream_kind kind)
{
	return kind_stream(kind) == holder || (holder == NULL && kind == OWN);
}

void mark(char *block, size_t bytes, unsigned seed)
{
	for (size_t at = 0; at + 8 <= bytes; at += PAGE)
		fill(block + at, 8, seed + (unsigned)(at / PAGE));
	fill(block + bytes - 8, 8, seed);
}

bool marked(const char *block, size_t bytes, unsigned seed)
{
	bool right = holds(block + bytes - 8, 8, seed);

	for (size_t at = 0; at + 16 <= bytes && right; at += PAGE)
		right = holds(block + at, 8, seed + (unsigned)(at / PAGE));
	return right;
}

char *promoted(size_t bytes, int times)
{
	char *block = malloc(bytes);

	mark(block, bytes, 1);
	if (!preloaded())
		times = 1;
	for (int i = 0; i < times && !is_pinned(block); i++)
		OK(cu.cuMemcpyHtoD_v2(there, block, bytes < THERE_BYTES ? bytes : THERE_BYTES));
	OK(cu.cuCtxSynchronize());
	return block;
}

/* Returns NULL if there is no result to compare with. */
static const struct answer *answer_of(const char *name)
{
	for (unsigned i = 0; i < answered; i++)
		if (strcmp(answers[i].name, name) == 0)
			return &answers[i];
	return NULL;
}

/*
 * If the call would not return without the library, the kernel ends soon; otherwise late, because
 * it gives up after 2 s.  On the stand-in, the twin lets waiting calls continue, and a limit only
 * ends tests that hang.  If nothing is compared, a call that polls for the kernel may end at any
 * time.
 */
static unsigned limit_ms(const struct action *action, const struct answer *plain)
{
	if (plain != NULL && !plain->back)
		return action->takes_ms + 5;
	if (stand_in("standin_calls") != NULL)
		return check_limit(30) * 1000;
	if (plain != NULL)
		return action->takes_ms + 800;
	return action->takes_ms + (unsigned)(action->bytes / (2 * MIB)) + 60;
}

/* True during calls that must return, because they do without the library. */
static _Atomic bool must_return;

/*
 * The calling thread is about to wait for the kernel, in its twin.  A thread of the library may
 * wait, as long as the program's own continues.
 */
static void is_awaited(void)
{
	if (must_return && gettid() != getpid())
		return;
	pthread_mutex_lock(&cutter.lock);
	if (cutter.armed) {
		word[0] = 2;
		cutter.armed = false;
	}
	pthread_mutex_unlock(&cutter.lock);
}

void held(const struct action *action)
{
	if (action->modeled_only && stand_in("standin_calls") == NULL)
		return;

	const struct answer *plain = answer_of(action->name);
	void *arguments[] = { &(CUdeviceptr){ (CUdeviceptr)&word[0] },
			      &(CUdeviceptr){ (CUdeviceptr)&word[1] } };
	int before = check_failures;

	if (action->prepare != NULL)
		action->prepare(action);
	OK(cu.cuCtxSynchronize());
	word[0] = word[1] = 0;
	OK(cu.cuLaunchKernel(holds_on, 1, 1, 1, 1, 1, 1, 0, holder, arguments, NULL));
	must_return = plain != NULL && plain->back;
	arm(limit_ms(action, plain));
	action->run(action);
	bool back = let_go();
	OK(cu.cuCtxSynchronize());
	/* It gave up, because something waited for it. */
	CHECK_EQ(word[1], 0);
	if (action->check != NULL)
		action->check(action);
	if (getenv("HELD_ANSWERS") != NULL)
		printf("answer %d %s\n", back, action->name);
	if (plain != NULL && plain->back && !back)
		CHECK(!"it returned without the library");
	if (check_failures != before)
		printf("# %s\n", action->name);
}

static void read_answers(int from)
{
	FILE *lines = fdopen(from, "r");
	char line[256];
	int back;

	while (fgets(line, sizeof(line), lines) != NULL)
		if (answered < ACTIONS_MOST &&
		    sscanf(line, "answer %d %63[^\n]", &back, answers[answered].name) == 2)
			answers[answered++].back = back != 0;
	fclose(lines);
}

/* Runs the row without the library, in a process of its own. */
static void ask_plain(const char *row)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		unsetenv("LD_PRELOAD");
		setenv("HELD_ANSWERS", "1", 1);
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		execl("/proc/self/exe", "held", "--child", row, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	read_answers(ends[0]);
	CHECK_EQ(check_status(child), CHECK_REACHED_ITS_END);
	CHECK(answered > 50);
}

static void hold(enum stream_kind which, const char *row)
{
	if (preloaded())
		ask_plain(row);
	defer_begin();
	/* Not through the library: for it, the program has no pinned memory. */
	OK(native.cuMemAllocHost_v2((void **)&word, PAGE));
	OK(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cu.cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
	check_thread(cut, NULL);
	thorough = strstr(row, "by_default") != NULL;
	holds_on = kernels.await;
	awaited = is_awaited;
	holder = which == SAME    ? stream
		 : which == OTHER ? blocking
		 : which == OWN   ? CU_STREAM_PER_THREAD
				  : NULL;
	held_copies();
	held_others();
}

#define HELD(row, which, mode, ...)                                         \
	TEST_WITH(row##_##mode, "HELD=1", "STANDIN_AHEAD=1", ##__VA_ARGS__) \
	{                                                                   \
		hold(which, #row "_" #mode);                                \
	}

HELD(row01_a_non_blocking_stream, SAME, by_default)
HELD(row02_a_blocking_stream, OTHER, by_default)
HELD(row03_the_threads_own_stream, OWN, by_default)
HELD(row04_the_legacy_stream, LEGACY, by_default)
HELD(row02_a_blocking_stream, OTHER, async_off, "HOTPIN_ASYNC=0")
HELD(row03_the_threads_own_stream, OWN, pin_off, "HOTPIN_PIN=0")
HELD(row04_the_legacy_stream, LEGACY, one_thread, "HOTPIN_THREADS=1")
HELD(row01_a_non_blocking_stream, SAME, staged, "HOTPIN_ROUTE=stage")
HELD(row02_a_blocking_stream, OTHER, profile, "HOTPIN_PROFILE=trace", "HOTPIN_OUT=/dev/null")
HELD(row01_a_non_blocking_stream, SAME, slowly, "STANDIN_LATE=cuMemcpyHtoDAsync:5")
HELD(row01_a_non_blocking_stream, SAME, small_budget, "HOTPIN_PIN_BUDGET=96M")
