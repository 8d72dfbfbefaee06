/*
 * test_places.c - places in Python, from made-up frames: which frames are chosen, code that was
 * seen before, and more places than the table has room for.
 */
#include "check.h"
#include "base/lock.h"
#include "trace/python/interpreter.h"
#include "trace/python/python_places.h"

#include <stdio.h>

/* The running frames, innermost first. */
static struct {
	struct python_frame frame;
	struct python_place place;
} running[32];
static size_t depth, asked;

/* These replace trace/python/interpreter.c: meson.build wraps them. */
size_t __wrap_interpreter_frames(const struct interpreter_thread *thread, size_t most,
				 struct python_frame *ret);
bool __wrap_interpreter_place(const struct interpreter_thread *thread,
			      const struct python_frame *frame, struct python_place *ret);
bool __wrap_interpreter_is_known(void);

bool __wrap_interpreter_is_known(void)
{
	return true;
}

size_t __wrap_interpreter_frames(const struct interpreter_thread *thread, size_t most,
				 struct python_frame *ret)
{
	size_t count = depth < most ? depth : most;

	(void)thread;
	for (size_t i = 0; i < count; i++)
		ret[i] = running[i].frame;
	return count;
}

bool __wrap_interpreter_place(const struct interpreter_thread *thread,
			      const struct python_frame *frame, struct python_place *ret)
{
	(void)thread;
	asked++;
	for (size_t i = 0; i < depth; i++) {
		if (running[i].frame.code != frame->code || running[i].frame.at != frame->at)
			continue;
		*ret = running[i].place;
		return ret->line != 0;
	}
	return false;
}

/* Adds a caller.  Line 0: its values make no sense. */
static void calls(uintptr_t code, const char *file, uint32_t line)
{
	running[depth].frame = (struct python_frame){ code, 2 * line, code };
	snprintf(running[depth].place.file, sizeof(running[depth].place.file), "%s", file);
	snprintf(running[depth].place.function, sizeof(running[depth].place.function), "f%zu",
		 (size_t)code);
	running[depth++].place.line = line;
}

static struct frames_way walk(void)
{
	struct frames_way way = { .depth = 1, .hash = 4711 };

	python_places_walk(&way, true);
	return way;
}

/* True if the place at `at` is that line. */
static bool is_line(const struct frames_way *way, size_t at, uint32_t line)
{
	struct profile_source source;

	if (at >= way->python_depth)
		return false;
	python_places_read(way->python[at], &source);
	return source.line == line;
}

TEST(no_python)
{
	CHECK_EQ(walk().python_depth, 0);
	CHECK_EQ(python_places_start(), 0);
	struct frames_way way = walk();
	CHECK(way.python_depth == 0 && way.hash == 4711);
}

TEST_AFTER(places_are_asked_for_once, python_places_start())
{
	struct frames_way first, again;

	calls(1, "/home/me/train.py", 10);
	calls(2, "/home/me/train.py", 20);
	first = walk();
	CHECK(first.python_depth == 2 && is_line(&first, 0, 10) && is_line(&first, 1, 20));
	CHECK(first.hash != 4711);
	CHECK_EQ(asked, 2);
	again = walk();
	CHECK(again.hash == first.hash && again.python[1] == first.python[1]);
	CHECK_EQ(asked, 2);
	/* Another line of the same function; then different code at the same place. */
	depth = 0;
	calls(1, "/home/me/train.py", 11);
	CHECK(walk().hash != first.hash);
	running[0].frame.code = 9;
	CHECK_EQ(walk().python[0], walk().python[0]);
	CHECK_EQ(asked, 4);
	struct profile_source source;
	python_places_read(first.python[0], &source);
	CHECK(strcmp(source.file, "/home/me/train.py") == 0 && strcmp(source.function, "f1") == 0);
}

TEST_AFTER(the_programs_own_line_is_among_them, python_places_start())
{
	const char *library = "/v/lib/python3.12/site-packages/torch/nn/module.py";

	for (uint32_t line = 1; line <= 5; line++)
		calls(line, library, line);
	calls(6, "/home/me/train.py", 66);
	calls(7, "/home/me/train.py", 77);
	struct frames_way way = walk();
	CHECK_EQ(way.python_depth, 3);
	CHECK(is_line(&way, 0, 1) && is_line(&way, 1, 2) && is_line(&way, 2, 66));
	/* None at all; and one among the first three. */
	depth = 5;
	way = walk();
	CHECK(is_line(&way, 0, 1) && is_line(&way, 1, 2) && is_line(&way, 2, 3));
	snprintf(running[1].place.file, 32, "own.py");
	running[1].frame.code = 100;
	way = walk();
	CHECK(is_line(&way, 1, 2) && is_line(&way, 2, 3));
}

TEST_AFTER(a_frame_without_sense_ends_the_way, python_places_start())
{
	calls(1, "a.py", 1);
	calls(2, "a.py", 0);
	calls(3, "a.py", 3);
	CHECK_EQ(walk().python_depth, 1);
	CHECK_EQ(walk().python_depth, 1);
	CHECK_EQ(asked, 2);
	depth = 0;
	calls(2, "a.py", 0);
	struct frames_way way = walk();
	CHECK(way.python_depth == 0 && way.hash == 4711);
}

TEST_AFTER(more_places_than_there_is_room_for, python_places_start())
{
	struct frames_way way;

	for (uint32_t line = 1; line <= PYTHON_PLACES_MOST + 100; line++) {
		depth = 0;
		calls(7, "big.py", line);
		way = walk();
		if (line == PYTHON_PLACES_MOST)
			CHECK(is_line(&way, 0, line));
	}
	CHECK_EQ(way.python_depth, 0);
	/* A known place stays, although the table of code was emptied. */
	depth = 0;
	calls(7, "big.py", 5);
	way = walk();
	CHECK(is_line(&way, 0, 5));
	/* Long texts are cut. */
	char file[400];
	memset(file, 'x', sizeof(file));
	for (int i = 0; i < 3000; i++) {
		depth = 0;
		snprintf(file, sizeof(file), "%0300d.py", i);
		calls(1000 + (uintptr_t)i, file, 1);
		CHECK_EQ(walk().python_depth, 0);
	}
}

CHECK_MAIN()
