/*
 * engine.c - the driver as a whole: settings of the environment, the lock, the clock, and the entry
 * and exit of every driver call.
 *
 * The clock is virtual.  A call takes the host time that the model states.  An operation ends when
 * its engine, its stream and its predecessors allow, and a wait advances the host's clock to that
 * end.
 */
#include "engine.h"
#pragma GCC visibility push(default)
#include "standin.h"
#pragma GCC visibility pop

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct engine engine = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.moved = PTHREAD_COND_INITIALIZER,
	.devices = 1,
	.version = 13000,
};

const uint64_t model[MODEL_COUNT] = {
#define MODEL(name, value) [MODEL_##name##_at] = value,
#include "model.def"
};

__thread bool in_callback;
static __thread const char *call_name;
static __thread int cancel_state; /* before the call; inside the driver, cancellation is disabled */
static struct timespec started;

/* Uses a clock that no test replaces: the test's clock may be this one. */
static uint64_t real_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)(now.tv_sec - started.tv_sec) * 1000000000u + (uint64_t)now.tv_nsec -
	       (uint64_t)started.tv_nsec;
}

static int number(const char *name, int otherwise)
{
	const char *text = getenv(name);
	char *end;

	if (text == NULL || *text == '\0')
		return otherwise;
	long value = strtol(text, &end, 10);
	if (*end != '\0')
		misread(name, text);
	return (int)value;
}

/* Reads the environment; called with the lock held, effective once. */
void engine_load(void)
{
	static bool loaded;
	const char *pin;

	if (loaded)
		return;
	loaded = true;
	clock_gettime(CLOCK_MONOTONIC_RAW, &started);
	engine.devices = number("STANDIN_DEVICES", 1);
	if (engine.devices > 8)
		engine.devices = 8;
	engine.version = number("STANDIN_VERSION", engine.version);
	engine.hmm = number("STANDIN_HMM", 0);
	engine.ats = number("STANDIN_ATS", 0);
	engine.extra = number("STANDIN_EXTRA", 0);
	engine.reenter = number("STANDIN_REENTER", 0);
	engine.realtime = number("STANDIN_REALTIME", 0);
	engine.jitter_us = (unsigned)number("STANDIN_JITTER", 0);
	engine.ahead = number("STANDIN_AHEAD", 0) != 0;
	engine.lean = number("STANDIN_LEAN", 0) != 0;
	engine.pinned_most = (size_t)number("STANDIN_PINNED_MIB", 0) << 20;
	pin = getenv("STANDIN_PIN");
	engine.softpin = pin != NULL && strcmp(pin, "soft") == 0;
	portable_load(getenv("STANDIN_PINS"), getenv("STANDIN_PINS_LIMIT"));
	log_open(getenv("STANDIN_LOG"));
	fail_load(getenv("STANDIN_FAIL"));
	steps_load(getenv("STANDIN_STEPS"));
	delay_load(&delay_slow, "STANDIN_SLOW", getenv("STANDIN_SLOW"));
	delay_load(&delay_late, "STANDIN_LATE", getenv("STANDIN_LATE"));
}

static _Atomic int calls_inside;

/*
 * The end of the process, as the driver sees it: calls return 4 (DEINITIALIZED) from here on.  A
 * real driver would crash a thread that is inside a call; here it is only reported.
 */
__attribute__((destructor)) static void engine_leave(void)
{
	/* In a child of fork(), calls of the parent's threads still count as in flight. */
	if (calls_inside != 0 && engine.pid == getpid())
		fprintf(stderr, "standin: a call is in flight while the driver ends\n");
	if (engine.pid == getpid())
		steps_end();
	engine.gone = true;
}

CUresult engine_init(void)
{
	if (engine.devices <= 0)
		return CUDA_ERROR_NO_DEVICE;
	engine.pid = getpid();
	engine.ready = true;
	steps_begin();
	return CUDA_SUCCESS;
}

void clock_spend(uint64_t ns)
{
	engine.clock_ns += ns;
}

void clock_reach(uint64_t ns)
{
	if (engine.clock_ns < ns)
		engine.clock_ns = ns;
}

uint64_t model_time(uint64_t bytes, uint64_t bytes_per_us)
{
	return bytes * 1000 / bytes_per_us;
}

static CUresult check(unsigned need)
{
	if (engine.gone)
		return CUDA_ERROR_DEINITIALIZED;
	if (need == NEED_NOTHING)
		return CUDA_SUCCESS;
	if (!engine.ready)
		return CUDA_ERROR_NOT_INITIALIZED;
	/* cuda.h, cuLaunchHostFunc: "Host functions must not make any CUDA API calls." */
	if (in_callback)
		return CUDA_ERROR_NOT_PERMITTED;
	if (need & NEED_CTX) {
		CUresult rc = ctx_check();

		if (rc != CUDA_SUCCESS)
			return rc;
	}
	return need & NEED_UNSAFE ? capture_forbids() : CUDA_SUCCESS;
}

/* xorshift64 (G. Marsaglia), with a different seed in each run. */
static unsigned jitter(void)
{
	static __thread uint64_t state;

	if (engine.jitter_us == 0)
		return 0;
	if (state == 0)
		state = real_ns() ^ (uintptr_t)&state;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % 8 == 0 ? (unsigned)(state / 8 % engine.jitter_us) : 0;
}

/* Lets other threads run between the call and its effect. */
static void come_late(const char *name)
{
	unsigned us = delay_due(&delay_late, name) * 1000 + jitter();
	int error = errno;

	if (us == 0)
		return;
	pthread_mutex_unlock(&engine.lock);
	usleep(us);
	pthread_mutex_lock(&engine.lock);
	errno = error;
}

/* Measured on an H200: launches and copies wait while another thread unregisters. */
static void come_after_unregistering(const char *name)
{
	if (in_callback || (strncmp(name, "cuLaunch", 8) != 0 && strncmp(name, "cuMemcpy", 8) != 0))
		return;
	while (engine.unregistering > 0) {
		pthread_mutex_unlock(&engine.lock);
		usleep(100);
		pthread_mutex_lock(&engine.lock);
	}
}

CUresult call_begin(const char *name, unsigned need, const char *format, ...)
{
	CUresult rc;
	va_list args;

	/*
	 * A driver does not survive fork(): its child gets NOT_INITIALIZED, and this lock may be
	 * held by a thread that the child does not have.
	 */
	if (engine.ready && engine.pid != getpid()) {
		engine.orphan_calls++;
		return CUDA_ERROR_NOT_INITIALIZED;
	}
	calls_inside++;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	pthread_mutex_lock(&engine.lock);
	engine_load();
	come_late(name);
	hold_here(name, STANDIN_AT_CALL);
	come_after_unregistering(name);
	if (engine.realtime > 0)
		clock_reach(real_ns() / (unsigned)engine.realtime);
	clock_spend(MODEL_OF(call_ns));
	call_name = name;
	va_start(args, format);
	log_call(name, format, args);
	va_end(args);
	rc = fail_due(name);
	if (rc == CUDA_SUCCESS)
		rc = check(need);
	return rc == CUDA_SUCCESS ? rc : call_end(rc);
}

/* Spends the modeled time in real time: sleeps through most of it, spins through the rest. */
static void live_until(uint64_t ns)
{
	for (uint64_t now = real_ns(); now < ns; now = real_ns())
		if (ns - now > 100000)
			usleep((useconds_t)((ns - now) / 1000 - 60));
}

CUresult call_end(CUresult rc)
{
	uint64_t until = engine.clock_ns;

	if (rc != CUDA_SUCCESS && rc != CUDA_ERROR_NOT_READY) {
		char text[96];

		snprintf(text, sizeof(text), "! %s %d", call_name, (int)rc);
		log_note(text);
	}
	unsigned slow_ms = delay_due(&delay_slow, call_name);
	engine.clock_ns += slow_ms * 1000000ull;
	hold_here(call_name, STANDIN_AT_RETURN);
	steps_called();
	pthread_mutex_unlock(&engine.lock);
	pthread_setcancelstate(cancel_state, NULL);
	if (slow_ms != 0)
		usleep(slow_ms * 1000);
	if (engine.realtime > 0)
		live_until(until * (unsigned)engine.realtime);
	calls_inside--;
	return rc;
}
