/*
 * test_fetch.c - which copies from the device may come back early, and what sites have to show.
 */
#include "defer/fetch.h"
#include "defer/touch.h"

#include "check.h"

#define MIB  ((uintptr_t)1 << 20)
#define BASE (64 * MIB)

/* A copy into all of a block of 8 MiB that begins 64 bytes into its room. */
#define RIGHT                                                                         \
	.allowed = true, .pinned = true, .huge = true, .to = BASE + 64, .base = BASE, \
	.start = BASE + 64, .bytes = 8 * MIB, .room = 9 * MIB, .size = 8 * MIB

#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#endif

static const struct {
	struct fetch_facts facts;
	enum fetch_refusal refusal;
} table[] = {
	{ { RIGHT }, FETCH_FINE },
	{ { RIGHT, .allowed = false }, FETCH_OFF },
	{ { RIGHT, .bytes = FETCH_LEAST - 1, .size = FETCH_LEAST - 1 }, FETCH_SMALL },
	{ { RIGHT, .bytes = FETCH_LEAST, .size = FETCH_LEAST }, FETCH_FINE },
	{ { RIGHT, .pinned = false }, FETCH_PLACE },
	{ { RIGHT, .huge = false }, FETCH_PLACE },
	{ { RIGHT, .altered = true }, FETCH_PLACE },
	/* Less than the program has, at either end. */
	{ { RIGHT, .bytes = 8 * MIB - 1 }, FETCH_PART },
	{ { RIGHT, .to = BASE + 65, .bytes = 8 * MIB - 1 }, FETCH_PART },
	/* More, but within the room: malloc_usable_size() tells. */
	{ { RIGHT, .bytes = 8 * MIB + 1 }, FETCH_FINE },
	{ { RIGHT, .bytes = 9 * MIB - 64 }, FETCH_FINE },
	{ { RIGHT, .bytes = 9 * MIB - 63 }, FETCH_PART },
	{ { RIGHT, .to = BASE, .bytes = 9 * MIB }, FETCH_FINE },
	{ { RIGHT, .to = BASE - 1, .bytes = 9 * MIB }, FETCH_PART },
	{ { RIGHT, .exposed = true }, FETCH_EXPOSED },
};

TEST(refusals)
{
	bool seen[FETCH_REFUSALS] = { false };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		enum fetch_refusal refusal = fetch_refuse(&table[i].facts);

		if (!CHECK_EQ(refusal, table[i].refusal))
			printf("# row %zu\n", i);
		seen[refusal] = true;
	}
	for (int i = 0; i < FETCH_REFUSALS; i++)
		CHECK(seen[i]);
}

/* l: late, e: early, .: a copy that was waited for; what the next does: W, T, D. */
static const struct {
	const char *past;
	char next;
} histories[] = {
	{ "", 'T' },
	{ "l", 'T' },
	{ "ll", 'D' },
	{ "llllll", 'D' },
	{ "e", 'W' },
	{ "e.", 'W' },
	{ "e..", 'T' },
	{ "le", 'W' },
	{ "le..", 'T' },
	{ "le..l", 'T' },
	{ "le..ll", 'D' },
	{ "e..e", 'W' },
	{ "e..e...", 'W' },
	{ "e..e....", 'T' },
	/* One that was late does not make up for those that were early. */
	{ "e..le..", 'W' },
	{ "e..le....", 'T' },
	{ "lle", 'W' },
	{ "lle..", 'T' },
	/* Long worth it: soon tried again. */
	{ "lle..lllle", 'W' },
	{ "lle..lllle..", 'T' },
};

static char letter_of(enum touch_wish wish)
{
	return wish == TOUCH_WAIT ? 'W' : wish == TOUCH_TRY ? 'T' : 'D';
}

TEST(histories)
{
	for (size_t i = 0; i < sizeof(histories) / sizeof(histories[0]); i++) {
		uint32_t history = 0;

		for (const char *at = histories[i].past; *at != '\0'; at++)
			history = *at == '.' ? touch_history_waited(history)
					     : touch_history_add(history, *at == 'l');
		if (!CHECK_EQ(letter_of(touch_history_wish(history)), histories[i].next))
			printf("# after '%s'\n", histories[i].past);
	}
}

/* However often it was early: the next trial comes, but ever later. */
TEST(patience)
{
	uint32_t history = 0;
	unsigned waited = 0, before = 0;

	for (int trial = 0; trial < 40; trial++) {
		history = touch_history_add(history, false);
		for (waited = 0; touch_history_wish(history) != TOUCH_TRY; waited++)
			history = touch_history_waited(history);
		CHECK(waited >= before && waited <= 1024);
		before = waited;
	}
	CHECK_EQ(waited, 1024);
}

TEST(sites)
{
	const uint32_t one = 0x12345671, other = 0x12345671 ^ 512 << 1;

	CHECK_EQ(touch_next(one), TOUCH_TRY);
	touch_note(one, true);
	touch_note(one, true);
	CHECK_EQ(touch_next(one), TOUCH_DEFER);
	CHECK_EQ(touch_next(0x12345673), TOUCH_TRY);
	/* One that takes its place knows nothing of it. */
	CHECK_EQ(touch_next(other), TOUCH_TRY);
	touch_note(other, false);
	CHECK_EQ(touch_next(other), TOUCH_WAIT);
	CHECK_EQ(touch_next(other), TOUCH_WAIT);
	/* Asked as often as one likes: until something is seen it is tried. */
	CHECK_EQ(touch_next(other), TOUCH_TRY);
	CHECK_EQ(touch_next(other), TOUCH_TRY);
	CHECK_EQ(touch_next(one), TOUCH_TRY);
}

CHECK_MAIN()
