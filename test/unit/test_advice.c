/*
 * test_advice.c - the advice for made-up profiles.
 */
#include "check.h"
#include "advice.h"
#include "advice_json.h"
#include "hotpin.h"

#include <stdarg.h>
#include <string.h>

#define MS ((int64_t)1000000)
#define US ((int64_t)1000)

/* Called by code that reads profiles; nothing is read here. */
void hotpin_say(const char *format, ...)
{
	(void)format;
}

/*
 * A loop: 100 steps of 10 ms, each with a download, host code, an upload and a kernel.  Each test
 * changes only the part that it tests.
 */
static struct profile_module modules[] = { { "/home/me/solve", NULL },
					   { "/usr/lib/libcuda.so.1", NULL },
					   { "/usr/lib/libc.so.6", NULL },
					   { "/usr/lib/libgomp.so.1", NULL } };
static struct profile_module python_modules[] = {
	{ "/opt/conda/bin/python3.12", NULL },
	{ "/env/lib/python3.12/site-packages/torch/lib/libtorch_cpu.so", NULL },
	{ "/lib/x86_64-linux-gnu/libcrypto.so.3", NULL },
	{ "/opt/conda/lib/libmkl_rt.so.2", NULL },
	{ "/home/me/ext.cpython-312-x86_64-linux-gnu.so", NULL },
	{ "/usr/lib/libc.so.6", NULL },
};
static struct profile_frame
	advance = { .module = 0, .offset = 16, .function = "advance", .line = "solve.c:10" },
	advance2 = { .module = 0, .offset = 24, .function = "advance", .line = "solve.c:12" },
	settle = { .module = 0, .offset = 99, .function = "settle" },
	spin = { .module = 1, .offset = 7 },
	copying = { .module = 2, .offset = 8, .function = "memcpy" },
	barrier = { .module = 3, .offset = 9 };
static struct profile_frame
	moved[] = { { .module = 2, .function = "memcpy" },
		    { .module = 0, .function = "advance", .line = "solve.c:12", .guessed = true } },
	driver_moved[] = { { .module = 2, .function = "memcpy" },
			   { .module = 1, .guessed = true } },
	up_at = { .module = 0, .offset = 20, .function = "upload", .line = "solve.c:20" },
	down_at = { .module = 0, .offset = 30, .function = "download", .line = "solve.c:30" },
	made_at = { .module = 0, .offset = 5, .function = "make", .line = "solve.c:5" };
static struct profile_row up_row = { "h2d", "pageable", 100, 400 << 20, 90 * MS, 100, 90 * MS },
			  down_row = { "d2h", "pageable", 100, 400 << 20, 110 * MS, 100, 110 * MS };
static struct profile_site sites[2];
static struct profile_buffer buffers[2];
static struct profile_transfer transfers[4];
static struct profile_size sizes[1];
static struct profile_bound bounds[4];
static struct profile_sample samples[9];
static struct profile_python python[4];
static struct profile_gap gaps[2];
static struct profile_call calls[6];
static struct profile_repeat repeats[2];
static struct profile_entry options[1];
static struct profile profile;
static struct advice_list list;

/* Round trips at unknown sites. */
static struct profile_trips trips(int64_t count, int64_t bytes, int64_t host_ns, int64_t copy_ns,
				  int64_t after)
{
	return (struct profile_trips){ count, bytes, host_ns, copy_ns, UNKNOWN, UNKNOWN, after };
}

static struct profile_frames frames(struct profile_frame *items, size_t count)
{
	return (struct profile_frames){ items, count };
}

static void make(void)
{
	sites[0] = (struct profile_site){ .frames = frames(&up_at, 1),
					  .rows = &up_row,
					  .row_count = 1 };
	sites[1] = (struct profile_site){ .frames = frames(&down_at, 1),
					  .rows = &down_row,
					  .row_count = 1 };
	buffers[0] = (struct profile_buffer){ .kind = "other",
					      .follows.after = UNKNOWN,
					      .round_trips.after = UNKNOWN };
	buffers[1] = buffers[0];
	buffers[1].kind = "heap";
	buffers[1].frames = frames(&made_at, 1);
	transfers[0] = (struct profile_transfer){ .view = "cupti",
						  .direction = "h2d",
						  .memory = "pageable",
						  .count = 100,
						  .bytes = 400 << 20 };
	transfers[1] = transfers[0];
	transfers[1].direction = "d2h";
	options[0] = (struct profile_entry){ "HOTPIN_PIN", "0", 0 };
	profile = (struct profile){
		.state = "ended",
		.wall_ns = 1000 * MS,
		.split = { .host_ns = 600 * MS,
			   .startup_ns = 100 * MS,
			   .calls_ns = 50 * MS,
			   .transfer_ns = 200 * MS,
			   .kernel_ns = 50 * MS },
		.backend.kind = "cupti",
		.host = { .copy_calls_ns = 220 * MS, .waiting_for_kernels_ns = 20 * MS },
		.gaps_short = { .count = 100, .total_ns = 200 * US },
		.sampling.hz = 200,
		.modules = modules,
		.module_count = 3,
		.sites = sites,
		.site_count = 2,
		.buffers = buffers,
		.buffer_count = 2,
		.transfers = transfers,
		.transfer_count = 2,
		.options = { options, 1 },
	};
}

static void set_bounds(int64_t pinned, int64_t overlapped, int64_t none)
{
	bounds[0] = (struct profile_bound){ .name = "all_pinned",
					    .assumes = "peak",
					    .saves_ns = pinned };
	bounds[1] = (struct profile_bound){ .name = "all_overlapped",
					    .assumes = "no waits",
					    .saves_ns = overlapped };
	bounds[2] = (struct profile_bound){ .name = "no_transfers",
					    .assumes = "none",
					    .saves_ns = none };
	profile.bounds = bounds;
	profile.bound_count = 3;
}

static void sample(struct profile_frames at, int64_t count)
{
	samples[profile.sample_count++] =
		(struct profile_sample){ .frames = at, .first_thread = count };
	profile.samples = samples;
}

#define PYTHON(name, file, at)                                                            \
	{                                                                                 \
		.module = UNKNOWN, .offset = UNKNOWN, .function = name, .line = "x:" #at, \
		.path = file, .number = at, .is_python = true                             \
	}

static struct profile_frame
	line9 = PYTHON("<module>", "/home/me/x", 9),
	line12 = PYTHON("step", "/home/me/x", 12), generated = PYTHON("__init__", "<string>", 2),
	frozen = PYTHON("_call_with_frames_removed", "<frozen importlib._bootstrap>", 488),
	fields = PYTHON("_create_fn", "/usr/lib/python3.12/dataclasses.py", 473),
	in_svd[] = { PYTHON("svd", "/env/lib/python3.12/site-packages/numpy/linalg.py", 1600),
		     PYTHON("step", "/home/me/x", 12) },
	in_wait[] = { PYTHON("wait", "/usr/lib/python3.12/threading.py", 355),
		      PYTHON("step", "/home/me/x", 12) },
	in_import[] = { PYTHON("get_data", "<frozen importlib._bootstrap_external>", 1187),
			PYTHON("step", "/home/me/x", 12) },
	in_generated[] = { PYTHON("collate", "/env/lib/python3.12/site-packages/a.py", 7),
			   PYTHON("<lambda>", "<string>", 1) },
	at_prompt = PYTHON("step", "<stdin>", 3),
	in_cell = PYTHON("step", "<ipython-input-3-0123456789ab>", 4),
	in_site[] = { PYTHON("collate", "/env/lib/python3.12/site-packages/a.py", 7) };

static void python_row(struct profile_frames at, int64_t cpu_ms)
{
	python[profile.python_count++] = (struct profile_python){ .frames = at,
								  .samples = cpu_ms / 10,
								  .cpu_ns = cpu_ms * MS };
	profile.python = python;
}

/* A program of Python: its native samples are in `module`, with `cpu_ms` at a line next to it. */
static void make_python(struct profile_frames at, int64_t cpu_ms)
{
	make();
	profile.modules = python_modules;
	profile.module_count = sizeof(python_modules) / sizeof(python_modules[0]);
	profile.site_count = 0;
	if (cpu_ms > 0)
		python_row(at, cpu_ms);
}

static void call(const char *name, const char *class, int64_t count, int64_t total, int64_t longest)
{
	calls[profile.call_count++] =
		(struct profile_call){ name, class, count, total * MS, longest * MS };
	profile.calls = calls;
}

/* Returns the only entry of the kind; NULL if there is none, or several. */
static const struct advice *only(enum advice_kind kind)
{
	const struct advice *found = NULL;
	int count = 0;

	advice_make(&profile, &list);
	for (size_t i = 0; i < list.count; i++) {
		if (list.items[i].kind != kind)
			continue;
		found = &list.items[i];
		count++;
	}
	return count == 1 ? found : NULL;
}

static bool has(const char *text, const char *part)
{
	bool found = strstr(text, part) != NULL;

	if (!found)
		printf("# \"%s\" is not in \"%s\"\n", part, text);
	return found;
}

TEST(pin)
{
	const struct advice *advice;

	make();
	CHECK(only(ADVICE_PIN) == NULL);
	buffers[1].could_save_ns = 70 * MS;
	advice = only(ADVICE_PIN);
	CHECK(advice != NULL && advice->saves_ns == 70 * MS && advice->is_estimate);
	buffers[0].could_save_ns = 30 * MS;
	advice = only(ADVICE_PIN);
	CHECK(advice != NULL && advice->saves_ns == 100 * MS);
	set_bounds(150 * MS, 0, UNKNOWN);
	advice = only(ADVICE_PIN);
	CHECK(advice != NULL && advice->saves_ns == 150 * MS && !advice->is_estimate);
	CHECK(advice->hotpin_does_it && has(advice->how, "hotpin run"));
	CHECK(advice->site == 1 && has(advice->where, "download at solve.c:30"));
	/* hotpin has already pinned what it could. */
	options[0].text = "1";
	advice = only(ADVICE_PIN);
	CHECK(advice != NULL && !advice->hotpin_does_it && has(advice->how, "cudaMallocHost"));
	transfers[0].memory = transfers[1].memory = "pinned";
	CHECK(only(ADVICE_PIN) == NULL);
}

TEST(upload_once)
{
	make();
	repeats[0] = (struct profile_repeat){ "duplicate", 0, 1, 99, 396 << 20, 80 * MS };
	profile.repeats.sites = repeats;
	profile.repeats.site_count = 1;
	const struct advice *advice = only(ADVICE_UPLOAD_ONCE);
	CHECK(advice != NULL && advice->saves_ns == 80 * MS + 99 * 2 * US && advice->site == 0);
	CHECK(has(advice->where, "upload at solve.c:20") && has(advice->how, "99 copies"));
	set_bounds(0, 0, 60 * MS);
	advice = only(ADVICE_UPLOAD_ONCE);
	CHECK(advice != NULL && advice->saves_ns == 60 * MS + 99 * 2 * US);
	repeats[0].kind = "ping_pong";
	repeats[0].site = UNKNOWN;
	advice = only(ADVICE_UPLOAD_ONCE);
	CHECK(advice != NULL && has(advice->what, "unchanged downloads") &&
	      advice->where[0] == '\0');
	repeats[0].host_ns = UNKNOWN;
	CHECK(only(ADVICE_UPLOAD_ONCE) == NULL);
}

TEST(keep)
{
	make();
	buffers[1].round_trips = trips(99, 396 << 20, 500 * MS, 200 * MS, -1);
	const struct advice *advice = only(ADVICE_KEEP);
	CHECK(advice != NULL && advice->saves_ns == 200 * MS + 198 * 2 * US &&
	      !advice->is_estimate);
	CHECK(advice->buffer == 1 && has(advice->where, "make at solve.c:5"));
	CHECK(has(advice->how, "500 ms in 99 round trips"));
	/* Waiting for kernels is not saved. */
	set_bounds(0, 0, 180 * MS);
	advice = only(ADVICE_KEEP);
	CHECK(advice != NULL && advice->saves_ns == 180 * MS + 198 * 2 * US);
	/* The host code between the copies gets its places. */
	gaps[0] = (struct profile_gap){ { "cuMemcpyDtoH_v2", frames(&down_at, 1) },
					{ "cuMemcpyHtoD_v2", frames(&up_at, 1) },
					99,
					500 * MS,
					6 * MS };
	profile.gaps = gaps;
	profile.gap_count = 1;
	advice = only(ADVICE_KEEP);
	CHECK(advice != NULL &&
	      has(advice->how, "from download at solve.c:30 to upload at solve.c:20"));
	/*
	 * Gaps count if they are as many and nearly as long as the round trips, also between calls
	 * around the copies.
	 */
	static const struct {
		int64_t count, total_ms;
		bool found;
	} rows[] = { { 99, 500, true },  { 100, 410, true }, { 98, 480, true },
		     { 97, 500, false }, { 99, 390, false }, { 200, 500, false } };
	gaps[0].before.call = "cuMemFree_v2";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gaps[0].count = rows[i].count;
		gaps[0].total_ns = rows[i].total_ms * MS;
		advice = only(ADVICE_KEEP);
		if (!CHECK(advice != NULL &&
			   (strstr(advice->how, "from download at") != NULL) == rows[i].found))
			printf("# row %zu\n", i);
	}
	/*
	 * Without names of buffers, the copies are named; data is downloaded from one and uploaded
	 * from another.
	 */
	buffers[0].follows = trips(99, 396 << 20, 500 * MS, 190 * MS, 0);
	buffers[1].round_trips = trips(0, 0, 0, 0, -1);
	advice = only(ADVICE_KEEP);
	CHECK(advice != NULL &&
	      has(advice->where, "download download at solve.c:30, upload upload at solve.c:20"));
	/* Data that only the order of the copies connects may be new in each step. */
	CHECK(has(advice->assumes, "is computed from the downloaded data"));
}

/*
 * Buffers that cross at the same copy sites are one change: a program swaps them, or copies them in
 * a loop.  Their host code is that of the gap, which buffers that are copied together share.
 */
TEST(keep_buffers_of_one_pair_of_sites)
{
	static const struct {
		const char *name;
		int64_t count, host_ms, download_site, upload_site;
		size_t entries;
		int64_t saves_us;
		const char *where, *how;
		int64_t port_ms; /* of the function that ran in between */
		int64_t gap_ms;
	} rows[] = {
		{ "swapped", 50, 150, 1, 0, 1, 200000 + 400,
		  "2 buffers: make at solve.c:5; advance at",
		  "upload at solve.c:20: 300 ms in 100 round trips", 500, 300 },
		{ "together", 100, 300, 1, 0, 1, 200000 + 800,
		  "2 buffers: make at solve.c:5; advance at",
		  "upload at solve.c:20: 300 ms in 200 round trips", 500, 300 },
		{ "another upload", 50, 150, 1, 1, 2, 120000 + 200, "make at solve.c:5",
		  "upload at solve.c:20: 150 ms in 50 round trips", 300, 300 },
		{ "another download", 50, 150, 0, 0, 2, 120000 + 200, "make at solve.c:5",
		  "upload at solve.c:20: 150 ms in 50 round trips", 300, 300 },
		{ "unknown", 50, 150, UNKNOWN, UNKNOWN, 2, 120000 + 200, "make at solve.c:5",
		  "upload at solve.c:20: 150 ms in 50 round trips", 300, 300 },
		{ "most cross elsewhere", 50, 150, 1, 0, 1, 200000 + 400,
		  "2 buffers: make at solve.c:5; advance at",
		  "in between: 300 ms in 100 round trips", 500, 100 },
	};
	struct profile_buffer three[3];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t entries = 0;

		make();
		three[0] = buffers[0];
		three[1] = three[2] = buffers[1];
		three[1].round_trips =
			trips(rows[i].count, 2 << 20, rows[i].host_ms * MS, 120 * MS, UNKNOWN);
		three[1].round_trips.download_site = 1;
		three[1].round_trips.upload_site = 0;
		three[2].frames = frames(&advance, 1);
		three[2].round_trips = three[1].round_trips;
		three[2].round_trips.copy_ns = 80 * MS;
		three[2].round_trips.download_site = rows[i].download_site;
		three[2].round_trips.upload_site = rows[i].upload_site;
		profile.buffers = three;
		profile.buffer_count = 3;
		/* A longer gap between other copies, and the gap of these. */
		gaps[0] = (struct profile_gap){ { "cuMemcpyDtoH_v2", frames(&made_at, 1) },
						{ "cuMemcpyHtoD_v2", frames(&made_at, 1) },
						3,
						400 * MS,
						400 * MS };
		gaps[1] = (struct profile_gap){ { "cuMemcpyDtoH_v2", frames(&down_at, 1) },
						{ "cuCtxGetCurrent", frames(&up_at, 1) },
						100,
						rows[i].gap_ms * MS,
						6 * MS };
		profile.gaps = gaps;
		profile.gap_count = 2;
		sample(frames(&advance, 1), 60);
		advice_make(&profile, &list);
		const struct advice *first = NULL;
		for (size_t j = 0; j < list.count; j++) {
			if (list.items[j].frame == &advance)
				CHECK_EQ(list.items[j].saves_ns, rows[i].port_ms * MS);
			if (list.items[j].kind != ADVICE_KEEP)
				continue;
			first = first != NULL ? first : &list.items[j];
			entries++;
		}
		if (!CHECK_EQ(entries, rows[i].entries) ||
		    !CHECK_EQ(first->saves_ns, rows[i].saves_us * US) ||
		    !CHECK(has(first->where, rows[i].where) && has(first->how, rows[i].how)))
			printf("# %s\n", rows[i].name);
	}
}

/* A name may be the beginning of another one. */
TEST(keep_names_each_buffer_once)
{
	struct profile_frame late_at = made_at;
	struct profile_buffer three[3];

	make();
	late_at.line = "solve.c:50";
	buffers[1].round_trips = trips(50, 2 << 20, 150 * MS, 120 * MS, UNKNOWN);
	buffers[1].round_trips.download_site = 1;
	buffers[1].round_trips.upload_site = 0;
	for (size_t i = 0; i < 3; i++)
		three[i] = buffers[1];
	three[0].frames = frames(&late_at, 1);
	profile.buffers = three;
	profile.buffer_count = 3;
	const struct advice *advice = only(ADVICE_KEEP);
	CHECK(advice != NULL &&
	      strcmp(advice->where, "3 buffers: make at solve.c:50; make at solve.c:5") == 0);
}

/* Format 1 and the first profiles of format 2 only have the bound without transfers. */
TEST(keep_without_round_trips)
{
	make();
	set_bounds(0, 0, 214 * MS);
	buffers[0].round_trips = buffers[0].follows =
		trips(UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN);
	buffers[1].round_trips = buffers[1].follows = buffers[0].follows;
	const struct advice *advice = only(ADVICE_KEEP);
	CHECK(advice != NULL && advice->saves_ns == 214 * MS && advice->site == 1);
	/* A single upload is no loop. */
	transfers[0].count = 1;
	CHECK(only(ADVICE_KEEP) == NULL);
}

TEST(port_function)
{
	make();
	sample(frames(&advance, 1), 20);
	sample(frames(&advance2, 1), 30);
	sample(frames(moved, 2), 10);
	sample(frames(&spin, 1), 1000);
	sample(frames(driver_moved, 2), 1000);
	sample(frames(&copying, 1), 1000);
	sample(frames(&barrier, 1), 1000);
	/* 60 samples of 5 ms: the caller of memcpy is in the program, in the driver, or unknown. */
	const struct advice *advice = only(ADVICE_PORT);
	CHECK(advice != NULL && advice->saves_ns == 300 * MS && advice->is_estimate);
	CHECK(has(advice->where, "advance at solve.c:12") && has(advice->assumes, "kernel's own"));
	CHECK(strcmp(advice_on_host_code(&profile, &list),
		     " The suggestions say what to port next.") == 0);
	/* Several threads at once save no more than the wall time of host code. */
	sample(frames(&settle, 1), 180);
	advice_make(&profile, &list);
	CHECK(list.count == 2 && list.items[0].saves_ns == 450 * MS &&
	      list.items[1].saves_ns == 150 * MS);
	CHECK(has(list.items[0].where, "settle"));
}

/* If a function runs between download and upload, its copies are saved, too. */
static const char *path_of(const char *function)
{
	return strncmp(function, "std::", 5) == 0 ? "/usr/include/c++/12/a.h" : "/src/a.c";
}

/*
 * The functions at one place, innermost first, and their caller.  main and upload() copy; the
 * function to port is the outermost at the place that does not.
 */
TEST(port_inlined_function)
{
	static const struct {
		const char *names[4], *port;
	} rows[] = {
		{ { "main" }, "main" },
		{ { "carry", "main" }, "carry" },
		{ { "cell", "carry", "main" }, "carry" },
		{ { "cell", "carry", "step" }, "step" },
		{ { "upload", "main" }, "upload" },
		{ { "cell", "upload", "main" }, "cell" },
		{ { "cell", "upload", "carry", "main" }, "carry" },
		{ { "less", "std::sort" }, "less" },
		{ { "less", "std::sort", "carry" }, "carry" },
		{ { "std::sort" }, "std::sort" },
	};
	struct profile_frame copy[] = { { .module = 0, .offset = 1, .function = "upload" },
					{ .module = 0, .offset = 1, .function = "main" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile_frame at[5];
		size_t count = 0;

		make();
		sites[0].frames = frames(copy, 2);
		for (; count < 4 && rows[i].names[count] != NULL; count++)
			at[count] = (struct profile_frame){ .module = 0,
							    .offset = 50,
							    .function = rows[i].names[count],
							    .path = path_of(rows[i].names[count]) };
		at[count] = (struct profile_frame){ .module = 0, .offset = 60, .function = "call" };
		sample(frames(at, count + 1), 100);
		const struct advice *advice = only(ADVICE_PORT);
		CHECK(advice != NULL && strcmp(advice->frame->function, rows[i].port) == 0);
	}
}

TEST(port_with_copies)
{
	static const struct {
		int64_t samples, between_ms, saves_ms;
		bool alone;
	} rows[] = {
		{ 60, 310, 500, true },  { 60, 375, 500, true },  { 60, 240, 500, true },
		{ 60, 400, 300, false }, { 60, 200, 300, false }, { 60, 0, 300, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t largest = 0;
		int ports = 0;

		make();
		sample(frames(&advance, 1), rows[i].samples);
		buffers[1].round_trips =
			trips(99, 396 << 20, rows[i].between_ms * MS, 200 * MS, -1);
		advice_make(&profile, &list);
		for (size_t j = 0; j < list.count; j++) {
			if (list.items[j].kind != ADVICE_PORT)
				continue;
			ports++;
			if (list.items[j].is_estimate)
				largest = list.items[j].saves_ns;
			else
				CHECK_EQ(list.items[j].saves_ns,
					 (rows[i].between_ms + 200) * MS + 198 * 2 * US);
		}
		if (!CHECK_EQ(largest, rows[i].saves_ms * MS) ||
		    !CHECK_EQ(ports, rows[i].alone ? 1 : 2))
			printf("# row %zu\n", i);
	}
}

/*
 * A loop may copy more than the one download and the one upload of a round trip.  The first row is
 * a program measured on an H100: each step has two downloads and an upload, and 1541 ms were saved.
 */
TEST(port_all_copies_of_a_loop)
{
	static const struct {
		int64_t count, other_ms, none_ms, saves_ms, repeated_ms;
	} rows[] = {
		{ 90, 245, 764, 1675, 763 },
		{ 90, 245, 700, 1612, 700 },     /* the rest waits for kernels */
		{ 1, 245, 764, 1430, 518 },      /* in no loop */
		{ 90, UNKNOWN, 764, 1430, 518 }, /* not known */
		{ UNKNOWN, UNKNOWN, 764, 1430, 518 },
	};
	struct profile_row up = up_row, down = down_row, other = down_row;
	struct profile_site three[] = {
		{ .frames = frames(&up_at, 1), .rows = &up, .row_count = 1 },
		{ .frames = frames(&down_at, 1), .rows = &down, .row_count = 1 },
		{ .frames = frames(&made_at, 1), .rows = &other, .row_count = 1 }
	};

	up.count = down.count = 90;
	up.host_ns = 268 * MS;
	down.host_ns = 250 * MS;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char repeated[32];

		make();
		profile.wall_ns = 2321 * MS;
		profile.split.host_ns = 1329 * MS;
		other.count = rows[i].count;
		other.host_ns = rows[i].other_ms >= 0 ? rows[i].other_ms * MS : UNKNOWN;
		profile.sites = three;
		profile.site_count = 3;
		set_bounds(UNKNOWN, UNKNOWN, rows[i].none_ms * MS);
		buffers[0].follows = trips(89, 2986344448, 912 * MS, 511 * MS, 0);
		const struct advice *advice = only(ADVICE_PORT);
		snprintf(repeated, sizeof(repeated), "%lld ms of repeated copies",
			 (long long)rows[i].repeated_ms);
		if (!CHECK(advice != NULL && advice->saves_ns / MS == rows[i].saves_ms) ||
		    !CHECK(has(advice->how, repeated)))
			printf("# row %zu: %lld us\n", i,
			       advice != NULL ? (long long)(advice->saves_ns / US) : -1);
		/* The data of one round trip stays on the device: no other copy goes. */
		advice = only(ADVICE_KEEP);
		CHECK(advice != NULL && advice->saves_ns == 511 * MS + 178 * 2 * US);
	}
}

/* The host code of a loop gets the names of functions that could be a part of it, or its place. */
TEST(port_names_what_explains_the_loop)
{
	static const struct {
		int64_t samples;
		bool gap;
		const char *says;
	} rows[] = {
		{ 5, true,
		  "host code, 200 ms of repeated copies; samples of the whole run: "
		  "advance at solve.c:10 (25.0 ms)" },
		{ 4, true,
		  "host code from download at solve.c:30 to upload at solve.c:20, "
		  "200 ms of repeated copies" },
		{ 0, true,
		  "host code from download at solve.c:30 to upload at solve.c:20, "
		  "200 ms of repeated copies" },
		{ 4, false, "host code, 200 ms of repeated copies" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct advice *found = NULL;
		char how[200];

		make();
		sample(frames(&spin, 1), 1000);
		sample(frames(&advance, 1), rows[i].samples);
		buffers[1].round_trips = trips(99, 396 << 20, 500 * MS, 200 * MS, -1);
		gaps[0] = (struct profile_gap){ { "cuMemcpyDtoH_v2", frames(&down_at, 1) },
						{ "cuMemcpyHtoD_v2", frames(&up_at, 1) },
						99,
						500 * MS,
						6 * MS };
		profile.gaps = gaps;
		profile.gap_count = rows[i].gap;
		advice_make(&profile, &list);
		for (size_t j = 0; j < list.count; j++)
			if (list.items[j].kind == ADVICE_PORT && !list.items[j].is_estimate)
				found = &list.items[j];
		snprintf(how, sizeof(how), "turn its loops into kernels: 500 ms of %s",
			 rows[i].says);
		if (!CHECK(found != NULL && strcmp(found->how, how) == 0))
			printf("# row %zu: %s\n", i, found != NULL ? found->how : "");
	}
}

TEST(port_without_samples)
{
	make();
	gaps[0] = (struct profile_gap){ { "cuMemAlloc_v2", frames(&down_at, 1) },
					{ "cuMemFree_v2", frames(&up_at, 1) },
					99,
					700 * MS,
					8 * MS };
	gaps[1] = gaps[0];
	gaps[1].before.call = NULL;
	profile.gaps = gaps;
	profile.gap_count = 2;
	const struct advice *advice = only(ADVICE_PORT);
	CHECK(advice != NULL && advice->saves_ns == 600 * MS && !advice->is_estimate);
	CHECK(has(list.blind, "not sampled"));
	CHECK(advice_on_host_code(&profile, &list) != NULL);
	/* A single gap is no loop, and samples in the driver are nothing to port. */
	gaps[0].count = 1;
	CHECK(only(ADVICE_PORT) == NULL);
	CHECK(advice_on_host_code(&profile, &list) == NULL);
	gaps[0].count = 99;
	sample(frames(&spin, 1), 1000);
	CHECK(only(ADVICE_PORT) == NULL);
	CHECK(strcmp(advice_on_host_code(&profile, &list), "") == 0);
	CHECK(has(list.blind, "no samples in functions of the program"));
	/* A memcpy of the program whose caller was not found is not mistaken for no work. */
	CHECK(strstr(list.blind, "libraries") == NULL);
	sample(frames(&copying, 1), 10);
	sample(frames(driver_moved, 2), 1000);
	sample(frames(moved, 2), 1);
	advice_make(&profile, &list);
	CHECK(has(list.blind,
		  "program; C and C++ libraries used 50.0 ms, and their callers are not known"));
	samples[1].first_thread = 9;
	advice_make(&profile, &list);
	CHECK(strstr(list.blind, "libraries") == NULL);
}

/* A line of Python is named, not the native function of a library that it calls. */
TEST(python_lines)
{
	static const struct {
		const char *name;
		struct profile_frames at;
		int64_t cpu_ms, saves_ms;
		const char *where;
	} rows[] = {
		{ "a line", { &line9, 1 }, 250, 250, "<module> at x:9" },
		{ "in a library", { in_svd, 2 }, 250, 250, "step at x:12" },
		{ "more than the host code", { &line9, 1 }, 900, 600, "<module> at x:9" },
		{ "imports", { &frozen, 1 }, 250, 0, NULL },
		{ "imports of a line", { in_import, 2 }, 250, 0, NULL },
		{ "the standard library", { &fields, 1 }, 250, 0, NULL },
		{ "a line that waits", { in_wait, 2 }, 250, 0, NULL },
		{ "no line of the program", { in_site, 1 }, 250, 0, NULL },
		{ "generated code", { &generated, 1 }, 250, 0, NULL },
		{ "called by generated code", { in_generated, 2 }, 250, 0, NULL },
		{ "a prompt", { &at_prompt, 1 }, 250, 250, "step at x:3" },
		{ "a notebook", { &in_cell, 1 }, 250, 250, "step at x:4" },
	};
	static struct profile_frame torch = { .module = 1, .offset = 7 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_python(rows[i].at, rows[i].cpu_ms);
		python_row(frames(&line9, 1), 0);
		sample(frames(&torch, 1), 50);
		const struct advice *advice = only(ADVICE_PORT);
		if (!CHECK(rows[i].saves_ms == 0
				   ? list.count == 0
				   : advice != NULL && advice->saves_ns == rows[i].saves_ms * MS &&
					     advice->is_estimate && advice->frame->is_python &&
					     strcmp(advice->where, rows[i].where) == 0))
			printf("# %s\n", rows[i].name);
	}
	/* Without a known line, the library is named as before. */
	make_python(frames(NULL, 0), 250);
	sample(frames(&torch, 1), 50);
	const struct advice *advice = only(ADVICE_PORT);
	CHECK(advice != NULL && has(advice->where, "code without symbols in libtorch_cpu.so"));
	/* Two places of a line are one; several threads save no more than the host code. */
	make_python(frames(in_svd, 2), 100);
	python_row(frames(&line12, 1), 200);
	python_row(frames(&line9, 1), 700);
	advice_make(&profile, &list);
	CHECK(list.count == 2 && list.items[0].saves_ns == 420 * MS &&
	      list.items[1].saves_ns == 180 * MS);
	/* The loop's copies go, too. */
	make_python(frames(&line9, 1), 300);
	buffers[1].round_trips = trips(99, 396 << 20, 310 * MS, 200 * MS, -1);
	advice = only(ADVICE_PORT);
	CHECK(advice != NULL && advice->saves_ns == 500 * MS);
	CHECK(strcmp(advice->what, "port this Python line and drop its copies") == 0);
	/* Those of another loop do not. */
	buffers[0].follows = trips(99, 396 << 20, 20 * MS, 90 * MS, 1);
	advice = only(ADVICE_PORT);
	CHECK(advice != NULL && advice->saves_ns == 500 * MS &&
	      has(advice->how, "and copies of 200 ms"));
}

/* The lines of python -c are in "<string>", as is code that a program generates. */
TEST(python_text)
{
	make_python(frames(&generated, 1), 250);
	const struct advice *advice = only(ADVICE_PORT);
	CHECK(advice != NULL && advice->saves_ns == 250 * MS &&
	      strcmp(advice->where, "__init__ at x:2") == 0);
	/* A library that such a line calls works for it. */
	make_python(frames(in_generated, 2), 250);
	advice = only(ADVICE_PORT);
	CHECK(advice != NULL && strcmp(advice->where, "<lambda> at x:1") == 0);
	/* The interpreter's own code is nobody's. */
	make_python(frames(&frozen, 1), 250);
	python_row(frames(&fields, 1), 250);
	CHECK(only(ADVICE_PORT) == NULL);
	/* With a notebook, text is generated. */
	make_python(frames(&generated, 1), 250);
	python_row(frames(&in_cell, 1), 100);
	advice = only(ADVICE_PORT);
	CHECK(advice != NULL && strcmp(advice->where, "step at x:4") == 0);
}

/* Installed libraries work for a line; an extension of the program is its own code. */
TEST(python_extensions)
{
	static struct profile_frame at[6];

	for (int i = 0; i < 6; i++)
		at[i] = (struct profile_frame){ .module = i, .offset = 7, .guessed = i == 4 };
	make_python(frames(&in_import[0], 1), 10);
	for (int i = 0; i < 4; i++)
		sample(frames(&at[i], 1), 20);
	CHECK(only(ADVICE_PORT) == NULL);
	/* Called by the extension. */
	static struct profile_frame called[2];
	called[0] = at[1];
	called[1] = at[4];
	sample(frames(called, 2), 10);
	sample(frames(&at[4], 1), 10);
	const struct advice *advice = only(ADVICE_PORT);
	CHECK(advice != NULL && advice->saves_ns == 100 * MS &&
	      has(advice->where, "code without symbols in ext.cpython"));
	CHECK(has(advice->how, "turn its loops into kernels"));
}

/* CPU time of a line includes its CUDA calls.  What they may have taken is not claimed. */
TEST(python_lines_that_call_cuda)
{
	static const struct {
		const char *name, *class;
		int64_t copy_ms, launch_ms, call_ms, saves_ms;
	} rows[] = {
		{ "cuMemAlloc_v2", "allocate", 90, 0, 0, 210 },
		{ "cuMemAlloc_v2", "allocate", 0, 80, 0, 220 },
		{ "cuMemAlloc_v2", "allocate", 0, 0, 70, 230 },
		{ "cuMemAlloc_v2", "allocate", 90, 80, 70, 60 },
		{ "cuMemAlloc_v2", "allocate", 300, 0, 0, 0 },
		/* These are known by place. */
		{ "cuMemcpyHtoD_v2", "copy", 90, 0, 200, 210 },
		{ "cuLaunchKernel", "launch", 0, 80, 200, 220 },
		/* Sampling begins after it. */
		{ "cuInit", "start_up", 0, 0, 290, 300 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile_row row = {
			"h2d", "pageable", 1, 1 << 20, rows[i].copy_ms * MS, 1, rows[i].copy_ms * MS
		};
		struct profile_site site = { .frames = frames(&line12, 1),
					     .rows = &row,
					     .row_count = 1 };
		struct profile_launch launch = { .frames = frames(&line12, 1),
						 .count = 1,
						 .host_ns = rows[i].launch_ms * MS,
						 .kernels = UNKNOWN,
						 .device_ns = UNKNOWN,
						 .estimated_ns = UNKNOWN };

		make_python(frames(&line12, 1), 300);
		/* A library may do it for CUDA. */
		python_row(frames(in_svd, 2), 100);
		profile.sites = &site;
		profile.site_count = rows[i].copy_ms > 0;
		profile.launches = &launch;
		profile.launch_count = rows[i].launch_ms > 0;
		call(rows[i].name, rows[i].class, 2, rows[i].call_ms, 1);
		/* Calls at another line are not its own. */
		call("cuMemFree_v2", "free", 2, 50, 1);
		gaps[0] = (struct profile_gap){ { "cuMemFree_v2", frames(&line9, 1) },
						{ rows[i].name, frames(&line12, 1) },
						1,
						MS,
						MS };
		gaps[1] = gaps[0];
		profile.gaps = gaps;
		profile.gap_count = 2;
		const struct advice *advice = only(ADVICE_PORT);
		if (!CHECK(rows[i].saves_ms == 0
				   ? list.count == 0
				   : advice != NULL && advice->saves_ns == rows[i].saves_ms * MS &&
					     has(advice->how, "CPU time outside CUDA calls in 30")))
			printf("# row %zu: %lld ms\n", i,
			       advice != NULL ? (long long)(advice->saves_ns / MS) : -1);
	}
}

/* The text names the library that the program uses for the GPU, and no other. */
TEST(python_texts)
{
	static struct profile_module cupy[] = { { "/env/cupy/_core/core.so", NULL } };
	const struct advice *advice;

	make_python(frames(&line9, 1), 250);
	set_bounds(150 * MS, 140 * MS, UNKNOWN);
	options[0].text = "1";
	transfers[0].memory = "pageable";
	advice = only(ADVICE_PORT);
	CHECK(advice != NULL &&
	      strcmp(advice->how, "compute it in tensors that are created on the GPU "
				  "(device='cuda'): 250 ms of CPU time in 25 samples") == 0);
	CHECK(has(advice->assumes, "a GPU can compute it"));
	advice = only(ADVICE_PIN);
	CHECK(advice != NULL && has(advice->how, "pin_memory() of the tensors"));
	advice = only(ADVICE_OVERLAP);
	CHECK(advice != NULL && has(advice->how, "non_blocking=True"));
	call("cuStreamSynchronize", "synchronize", 100, 40, 1);
	advice = only(ADVICE_SYNCHRONIZE);
	CHECK(advice != NULL && has(advice->how, "remove item(), cpu() and synchronize() that the "
						 "loop can do without: 100 calls"));
	profile.modules = cupy;
	profile.module_count = 1;
	advice = only(ADVICE_PORT);
	CHECK(advice != NULL && has(advice->how, "compute it in CuPy arrays: 250 ms"));
	profile.module_count = 0;
	advice = only(ADVICE_PORT);
	CHECK(advice != NULL &&
	      has(advice->how, "compute on the GPU what this line computes on the host: 250 ms"));
	/* All tensors come from one allocator. */
	static struct profile_frame allocator = { .module = 1, .offset = 7 };
	make_python(frames(&line9, 1), 100);
	buffers[0].kind = "heap";
	buffers[0].frames = buffers[1].frames = frames(&allocator, 1);
	buffers[0].largest_bytes = 4 << 20;
	buffers[1].largest_bytes = 8 << 20;
	buffers[1].round_trips = trips(99, 396 << 20, 300 * MS, 200 * MS, -1);
	advice = only(ADVICE_KEEP);
	CHECK(advice != NULL && strcmp(advice->where, "8.39 MB allocated in libtorch_cpu.so") == 0);
	buffers[1].follows = trips(100, 396 << 20, 300 * MS, 200 * MS, 0);
	advice = only(ADVICE_KEEP);
	CHECK(advice != NULL &&
	      strcmp(advice->where, "download to 4.19 MB allocated in libtorch_cpu.so, "
				    "upload of 8.39 MB allocated in libtorch_cpu.so") == 0);
	buffers[0].largest_bytes = 8 << 20;
	advice = only(ADVICE_KEEP);
	CHECK(advice != NULL && strcmp(advice->where, "8.39 MB allocated in libtorch_cpu.so") == 0);
	/* Copies have Python lines. */
	sites[0].frames = frames(&line9, 1);
	sites[1].frames = frames(&line12, 1);
	profile.site_count = 2;
	python[0].cpu_ns = 20 * MS;
	advice_make(&profile, &list);
	CHECK(list.count > 0 &&
	      strcmp(list.items[0].what, "port all host code between these copies") == 0);
	CHECK(strcmp(list.items[0].where, "download step at x:12, upload <module> at x:9") == 0);
	CHECK(has(list.items[0].how, "compute it on the GPU: 300 ms of host code"));
}

/* Sampling begins with the first CUDA call; host code before it cannot be known. */
TEST(before_cuda)
{
	static const struct {
		int64_t before_ms, began_ms, count, own, import_ms;
		bool python;
		const char *blind;
	} rows[] = {
		{ 0, 100, 1, 10, 0, false,
		  "what 550 ms of host code does: it has no samples in functions of the program" },
		{ 40, 100, 1, 10, 0, false,
		  "what 550 ms of host code does: it has no samples in functions of the program" },
		{ 400, 500, 1, 10, 0, false,
		  "what 550 ms of host code does: 400 ms of it came before the first CUDA call, "
		  "where sampling begins; the rest has no samples in functions of the program" },
		{ 545, 600, 1, 10, 0, false,
		  "what 550 ms of host code does: it came before the first CUDA call, where "
		  "sampling begins" },
		{ 580, 600, 1, 10, 0, false,
		  "what 550 ms of host code does: it came before the first CUDA call, where "
		  "sampling begins" },
		/* Another thread had started CUDA. */
		{ 400, 300, 1, 10, 0, false,
		  "what 550 ms of host code does: it has no samples in functions of the program" },
		{ 400, UNKNOWN, 1, 10, 0, false,
		  "what 550 ms of host code does: it has no samples in functions of the program" },
		{ 400, 500, 2, 10, 0, false,
		  "what 550 ms of host code does: it has no samples in functions of the program" },
		{ 400, 500, 1, 60, 0, false, "" },
		{ 400, 500, 1, 10, 20, true,
		  "what 530 ms of host code does: 400 ms of it came before the first CUDA call, "
		  "where sampling begins; the rest has no samples in Python lines that could be "
		  "ported" },
		{ 0, 500, 1, 10, 60, true,
		  "what 490 ms of host code does: it has no samples in Python lines that could "
		  "be ported" },
		{ 400, 500, 1, 30, 150, true, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make();
		if (rows[i].python) {
			make_python(frames(&line9, 1), rows[i].own * 5);
			python_row(frames(in_import, 2), rows[i].import_ms);
		} else {
			sample(frames(&advance, 1), rows[i].own);
		}
		profile.sampling.began_ns = rows[i].began_ms > 0 ? rows[i].began_ms * MS : UNKNOWN;
		gaps[0] = (struct profile_gap){ { NULL, frames(NULL, 0) },
						{ "cuInit", frames(NULL, 0) },
						rows[i].count,
						rows[i].before_ms * MS,
						rows[i].before_ms * MS };
		profile.gaps = gaps;
		profile.gap_count = 1;
		advice_make(&profile, &list);
		if (!CHECK(strcmp(list.blind, rows[i].blind) == 0))
			printf("# row %zu: %s\n", i, list.blind);
		CHECK(rows[i].import_ms < 50 || has(list.left, "imports of Python modules take"));
	}
	CHECK(has(list.left, "imports of Python modules take 150 ms of CPU time (15.0 %) after the "
			     "first CUDA call"));
	/* Several threads may import at once. */
	python[1].cpu_ns = 900 * MS;
	advice_make(&profile, &list);
	CHECK(has(list.left, "take 200 ms of CPU time (20.0 %)"));
	/* Lines can only have run after the begin of sampling. */
	make_python(frames(&line9, 1), 500);
	profile.sampling.began_ns = 500 * MS;
	gaps[0].total_ns = 400 * MS;
	gaps[0].count = 1;
	profile.gaps = gaps;
	profile.gap_count = 1;
	const struct advice *advice = only(ADVICE_PORT);
	CHECK(advice != NULL && advice->saves_ns == 200 * MS);
	/* Lines are known without samples of native code. */
	profile.sampling.why = "perf_event_paranoid is 4";
	profile.sampling.began_ns = UNKNOWN;
	python[0].cpu_ns = 100 * MS;
	advice_make(&profile, &list);
	CHECK(has(list.blind, "no samples in Python lines that could be ported"));
}

TEST(calls_in_a_loop)
{
	make();
	call("cuMemAlloc_v2", "allocate", 200, 30, 10);
	call("cuMemFree_v2", "free", 200, 15, 1);
	call("cuMemHostAlloc", "allocate", 1, 90, 90);
	call("cuCtxSynchronize", "synchronize", 100, 40, 1);
	call("cuMemcpyHtoD_v2", "copy", 100, 90, 1);
	gaps[0] = (struct profile_gap){ { "cuMemFree_v2", frames(&down_at, 1) },
					{ "cuMemAlloc_v2", frames(&made_at, 1) },
					99,
					MS,
					MS };
	profile.gaps = gaps;
	profile.gap_count = 1;
	const struct advice *advice = only(ADVICE_ALLOCATE);
	CHECK(advice != NULL && advice->saves_ns == 34 * MS + 400 * 2 * US &&
	      has(advice->how, "400 calls"));
	CHECK(has(advice->where, "make at solve.c:5"));
	advice = only(ADVICE_SYNCHRONIZE);
	CHECK(advice != NULL && advice->saves_ns == 40 * MS + 100 * 2 * US &&
	      has(advice->how, "100 calls"));
	/*
	 * At most the idle time of the device counts: a call may wait for it, and then hide host
	 * code.
	 */
	profile.split.calls_ns = 7 * MS;
	profile.split.host_ns = 20 * MS;
	advice = only(ADVICE_ALLOCATE);
	CHECK(advice != NULL && advice->saves_ns == 27 * MS);
	advice = only(ADVICE_SYNCHRONIZE);
	CHECK(advice != NULL && advice->saves_ns == 27 * MS);
	calls[0].count = calls[1].count = calls[3].count = 15;
	CHECK(only(ADVICE_ALLOCATE) == NULL);
	CHECK(only(ADVICE_SYNCHRONIZE) == NULL);
}

/* Host memory that is new in each step is slower to write, too. */
TEST(host_memory_in_a_loop)
{
	make();
	call("cuMemHostAlloc", "allocate", 200, 30, 10);
	call("cuMemFreeHost", "free", 200, 20, 5);
	const struct advice *advice = only(ADVICE_ALLOCATE);

	CHECK(advice != NULL && advice->is_estimate);
	CHECK(advice != NULL && has(advice->assumes, "old host memory"));
}

TEST(small_copies)
{
	make();
	sizes[0] = (struct profile_size){ 4096, 1000, 4 << 20, 50 * MS };
	transfers[2] = (struct profile_transfer){ .view = "hotpin",
						  .direction = "h2d",
						  .memory = "pageable",
						  .sizes = sizes,
						  .size_count = 1 };
	profile.transfer_count = 3;
	up_row.bytes = 4 << 20;
	const struct advice *advice = only(ADVICE_BATCH);
	CHECK(advice != NULL && advice->saves_ns == 50 * MS - 50 * MS / 1000 + 999 * 2 * US &&
	      advice->site == 0);
	/* A step may have to read its result, as that of a convergence check. */
	CHECK(has(advice->assumes, "no copy is needed before the last one"));
	/* The calls wait for kernels, except for 5 ms. */
	profile.host.waiting_for_kernels_ns = 215 * MS;
	advice = only(ADVICE_BATCH);
	CHECK(advice != NULL && advice->saves_ns == 5 * MS - 5 * MS / 1000 + 999 * 2 * US);
	sizes[0].from_bytes = 65536;
	CHECK(only(ADVICE_BATCH) == NULL);
	sizes[0] = (struct profile_size){ 4, 99, 396, 50 * MS };
	CHECK(only(ADVICE_BATCH) == NULL);
	up_row.bytes = 400 << 20;
}

/*
 * A program of 120,000 launches and 40,000 small downloads, as measured on an H100: 500 ms were
 * saved.  The device idles while the host launches, and that does not end with the copies.
 */
TEST(host_work_remains)
{
	static const struct {
		const char *name;
		int64_t threads, launch_ms, synchronize_ms, polls;
		const char *rank;
		int64_t saves_ms;
	} rows[] = {
		{ "one thread launches", 1, 735, 0, 0, NULL, 877 },
		{ "of a run that does not say so", UNKNOWN, 735, 0, 0, NULL, 1188 },
		{ "several threads", 2, 735, 0, 0, NULL, 1188 },
		{ "a rank may wait for others", 1, 735, 0, 0, "0", 1188 },
		{ "a program that polls", 1, 735, 0, 100, NULL, 1188 },
		{ "waits get shorter", 1, 735, 400, 0, NULL, 1188 },
		{ "some of the idle time", 1, 735, 200, 0, NULL, 1077 },
		{ "launches take less", 1, 100, 0, 0, NULL, 1188 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make();
		profile.wall_ns = 1637 * MS;
		profile.split = (struct profile_split){ .host_ns = 117 * MS,
							.startup_ns = 229 * MS,
							.calls_ns = 935 * MS,
							.transfer_ns = 57 * MS,
							.kernel_ns = 299 * MS };
		profile.host.copy_calls_ns = 530 * MS;
		profile.host.waiting_for_kernels_ns = 32 * MS;
		profile.host.overhead_ns = 441 * MS;
		profile.host.launches = 120002;
		profile.host.threads = rows[i].threads;
		profile.process.rank = rows[i].rank;
		sizes[0] = (struct profile_size){ 4, 40001, 160004, 530 * MS };
		transfers[2] = (struct profile_transfer){ .view = "hotpin",
							  .direction = "d2h",
							  .memory = "pageable",
							  .sizes = sizes,
							  .size_count = 1 };
		profile.transfer_count = 3;
		set_bounds(498 * MS, 57 * MS, 498 * MS);
		call("cuLaunchKernel", "launch", 120002, rows[i].launch_ms, 1);
		call("cuMemcpyDtoH_v2", "copy", 40001, 547, 1);
		call("cuInit", "start_up", 1, 220, 220);
		call("cuCtxSynchronize", "synchronize", 3, rows[i].synchronize_ms, 1);
		call("cuEventQuery", "stream", rows[i].polls, 0, 0);
		const struct advice *advice = only(ADVICE_BATCH);
		if (!CHECK(advice != NULL && !advice->is_estimate &&
			   advice->saves_ns / MS == rows[i].saves_ms))
			printf("# %s: %lld ms\n", rows[i].name,
			       advice != NULL ? (long long)(advice->saves_ns / MS) : -1);
		profile.calls = NULL;
		profile.call_count = 0;
		advice = only(ADVICE_BATCH);
		CHECK(advice != NULL && advice->saves_ns / MS == 1188);
	}
}

/* A call of an asynchronous copy returns before the copy: an estimate by bytes, no bound. */
TEST(asynchronous_copies)
{
	static const struct {
		int64_t copies, synchronous, call_ms, bytes, device_ms;
		bool is_estimate;
		int64_t saves_ms;
	} rows[] = {
		/* All bytes of uploads take 200 ms on the device. */
		{ 100, 0, 1, 1 << 20, 200, true, 100 },
		{ 100, 99, 1, 1 << 20, 200, true, 100 },
		{ 100, 100, 1, 1 << 20, 200, false, 1 },
		/* Of pageable memory the call takes longer than the device. */
		{ 100, 0, 150, 1 << 20, 200, false, 150 },
		/* Without device times. */
		{ 100, 0, 1, 1 << 20, UNKNOWN, false, 1 },
		{ UNKNOWN, UNKNOWN, 1, 1 << 20, 200, false, 1 },
		/* More than all bytes: a file is not to be believed. */
		{ 100, 0, 1, INT64_MAX, 200, true, 200 },
		{ 100, 0, 1, UNKNOWN, 200, false, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (int keep = 0; keep < 2; keep++) {
			make();
			profile.gaps_short.count = 0;
			transfers[0].bytes = 2 << 20;
			transfers[0].busy_ns =
				rows[i].device_ms >= 0 ? rows[i].device_ms * MS : UNKNOWN;
			transfers[1] =
				(struct profile_transfer){ .view = "hotpin",
							   .direction = "h2d",
							   .memory = "pinned",
							   .count = rows[i].copies,
							   .sync_count = rows[i].synchronous };
			repeats[0] = (struct profile_repeat){
				"duplicate", 0, 1, 1, rows[i].bytes, rows[i].call_ms * MS
			};
			profile.repeats.sites = repeats;
			profile.repeats.site_count = !keep;
			if (keep)
				buffers[1].round_trips =
					trips(1, rows[i].bytes, 0, rows[i].call_ms * MS, -1);
			const struct advice *advice = only(keep ? ADVICE_KEEP : ADVICE_UPLOAD_ONCE);
			if (!CHECK(advice != NULL && advice->is_estimate == rows[i].is_estimate &&
				   advice->saves_ns / MS == rows[i].saves_ms))
				printf("# row %zu, %d\n", i, keep);
		}
	}
}

/* The bytes of small copies still cross the bus when one copy moves them. */
TEST(small_copies_in_one)
{
	static const struct {
		int64_t bytes, peak, saves_us;
	} rows[] = {
		{ 4000, 50000000000, 49950 },       /* one of the calls remains */
		{ 1000000000, 50000000000, 30000 }, /* 20 ms on the bus */
		{ 1000000000, UNKNOWN, 49950 },     { 1000000000, 0, 49950 },
		{ 3000000000, 50000000000, 0 },     { UNKNOWN, 50000000000, 49950 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make();
		sizes[0] = (struct profile_size){ 32768, 1000, rows[i].bytes, 50 * MS };
		transfers[2] = (struct profile_transfer){ .view = "hotpin",
							  .direction = "h2d",
							  .memory = "pageable",
							  .sizes = sizes,
							  .size_count = 1 };
		profile.transfer_count = 3;
		profile.environment.peak_h2d_bytes_per_s = rows[i].peak;
		const struct advice *advice = only(ADVICE_BATCH);
		int64_t ns = rows[i].saves_us * US + (rows[i].saves_us > 0 ? 999 * 2 * US : 0);
		if (!CHECK(ns == 0 ? advice == NULL : advice != NULL && advice->saves_ns == ns))
			printf("# row %zu\n", i);
	}
}

TEST(overlap)
{
	make();
	set_bounds(UNKNOWN, 45 * MS, UNKNOWN);
	const struct advice *advice = only(ADVICE_OVERLAP);
	CHECK(advice != NULL && advice->saves_ns == 45 * MS && advice_is_worth(&profile, advice));
	set_bounds(UNKNOWN, 9 * MS, UNKNOWN);
	advice = only(ADVICE_OVERLAP);
	CHECK(advice != NULL && !advice_is_worth(&profile, advice));
	set_bounds(UNKNOWN, 0, UNKNOWN);
	CHECK(only(ADVICE_OVERLAP) == NULL);
}

/* As on an H200: the driver's time alone would have predicted less than the change saved. */
TEST(bounds_hold)
{
	static const struct {
		enum advice_kind kind;
		int64_t wall_ms, driver_ms, count, launches, saved_ms;
	} rows[] = {
		{ ADVICE_KEEP, 74, 63, 99, 100, 62 },
		{ ADVICE_UPLOAD_ONCE, 49, 34, 99, 100, 36 },
		{ ADVICE_BATCH, 731, 607, 65536, 1, 717 },
		{ ADVICE_SYNCHRONIZE, 608, 245, 50000, 50000, 301 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t count = rows[i].count, ns = rows[i].driver_ms * MS;

		make();
		profile.wall_ns = rows[i].wall_ms * MS;
		profile.split = (struct profile_split){ .calls_ns = profile.wall_ns };
		profile.host.launches = rows[i].launches;
		profile.gaps_short.count = count;
		profile.gaps_short.total_ns = count * 1680;
		/* The device idles for 22 us in each of the 200 copies. */
		profile.host.overhead_ns = 200 * 22 * US;
		profile.host.copy_calls_ns = UNKNOWN;
		repeats[0] = (struct profile_repeat){ "duplicate", 0, 1, count, 0, ns };
		profile.repeats.sites = repeats;
		profile.repeats.site_count = rows[i].kind == ADVICE_UPLOAD_ONCE;
		sizes[0] = (struct profile_size){ 256, count, 256 * count, ns };
		transfers[2] =
			(struct profile_transfer){ .view = "hotpin",
						   .direction = "h2d",
						   .memory = "pinned",
						   .sizes = sizes,
						   .size_count = rows[i].kind == ADVICE_BATCH };
		profile.transfer_count = 3;
		if (rows[i].kind == ADVICE_KEEP)
			buffers[1].round_trips = trips(count, 0, 0, ns, -1);
		if (rows[i].kind == ADVICE_SYNCHRONIZE)
			call("cuCtxSynchronize", "synchronize", count, rows[i].driver_ms, 1);
		const struct advice *advice = only(rows[i].kind);
		if (!CHECK(advice != NULL && !advice->is_estimate &&
			   advice->saves_ns >= rows[i].saved_ms * MS &&
			   advice->saves_ns * 4 <= rows[i].saved_ms * MS * 5))
			printf("# row %zu: %lld us\n", i,
			       advice != NULL ? (long long)(advice->saves_ns / US) : -1);
	}
	/* If the host code between the calls takes longer, it may be saved, too. */
	profile.gaps_short.total_ns = profile.gaps_short.count * 5 * US;
	const struct advice *advice = only(ADVICE_SYNCHRONIZE);
	CHECK(advice != NULL && advice->saves_ns == 245 * MS + 50000 * 5 * US);
}

TEST(done)
{
	make();
	profile.split = (struct profile_split){ .host_ns = 50 * MS,
						.startup_ns = 700 * MS,
						.kernel_ns = 250 * MS };
	advice_make(&profile, &list);
	CHECK(list.is_done && list.count == 0);
	CHECK(has(list.left, "CUDA start-up takes 700 ms (70.0 %)"));
	CHECK(has(list.left, "kernels take 250 ms (25.0 %)"));
	/* There is still a change that saves 1 %. */
	set_bounds(0, 10 * MS, 0);
	advice_make(&profile, &list);
	CHECK(!list.is_done);
	profile.bound_count = 0;
	/* Host code that was not sampled. */
	profile.split.host_ns = 350 * MS;
	profile.split.startup_ns = 400 * MS;
	advice_make(&profile, &list);
	CHECK(!list.is_done && has(list.blind, "350 ms of host code"));
	/* The time until a program failed says nothing. */
	profile.process.exit_status = 1;
	advice_make(&profile, &list);
	CHECK(!list.is_done && list.count == 0 && list.blind[0] == '\0');
}

/* Unknown is neither 0 nor a saving. */
TEST(nothing_known)
{
	make();
	profile.split =
		(struct profile_split){ UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN };
	profile.split_why = "records are missing";
	profile.host.copy_calls_ns = UNKNOWN;
	advice_make(&profile, &list);
	CHECK(list.count == 0 && !list.is_done && has(list.blind, "it is not split"));
	CHECK(list.left[0] == '\0');
	profile.wall_ns = 0;
	advice_make(&profile, &list);
	CHECK(list.count == 0);
	/* A program before any port. */
	make();
	profile.backend.kind = "none";
	profile.sample_count = 0;
	advice_make(&profile, &list);
	CHECK(list.count == 0 && !list.is_done && advice_on_host_code(&profile, &list) == NULL);
}

/*
 * The largest saving comes first; if there are too many, the smallest are dropped; none exceeds the
 * wall time.
 */
TEST(ranking)
{
	static struct profile_repeat many[3 * ADVICE_MOST];

	make();
	profile.repeats.sites = many;
	profile.repeats.site_count = 3 * ADVICE_MOST;
	for (int i = 0; i < 3 * ADVICE_MOST; i++)
		many[i] = (struct profile_repeat){ "duplicate", UNKNOWN, UNKNOWN,
						   1,           1,       (i * 37 % 144) * 10 * MS };
	advice_make(&profile, &list);
	CHECK_EQ(list.count, ADVICE_MOST);
	CHECK_EQ(list.items[0].saves_ns, profile.wall_ns);
	for (size_t i = 1; i < list.count; i++)
		CHECK(list.items[i].saves_ns <= list.items[i - 1].saves_ns);
	CHECK_EQ(list.items[ADVICE_MOST - 1].saves_ns, 960 * MS + 2 * US);
}

TEST(for_programs)
{
	make();
	set_bounds(150 * MS, 9 * MS, UNKNOWN);
	transfers[2].size_count = 0;
	advice_make(&profile, &list);
	CHECK_EQ(list.count, 2);
	json_t *first = advice_json(&profile, &list.items[0]);
	json_t *second = advice_json(&profile, &list.items[1]);
	CHECK(strcmp(json_string_value(json_object_get(first, "kind")), "pin") == 0);
	CHECK(strcmp(json_string_value(json_object_get(first, "basis")), "bound") == 0);
	CHECK_EQ(json_integer_value(json_object_get(first, "saves_ns")), 150 * MS);
	CHECK_EQ(json_integer_value(json_object_get(first, "saves_tenths_of_a_percent")), 150);
	CHECK(json_is_true(json_object_get(first, "hotpin_run_does_it")));
	CHECK(json_is_string(json_object_get(first, "where")));
	CHECK(json_is_true(json_object_get(first, "is_worth")));
	CHECK(json_is_false(json_object_get(second, "is_worth")));
	json_decref(first);
	json_decref(second);
}

CHECK_MAIN()
