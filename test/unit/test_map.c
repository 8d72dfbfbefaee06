/*
 * test_map.c - compares the two-level address map with a plain array.
 */
#include "heap/map.h"
#include "base/lock.h"

#include "check.h"
#include "sizes.h"

#define BASE  ((uintptr_t)1 << 40)
#define BYTES (64 * MIB)
#define UNITS (BYTES / MAP_UNIT)

static struct block blocks[7];
static struct block *wanted[UNITS];

static bool agrees(void)
{
	for (size_t i = 0; i < UNITS; i++)
		if (map_at(BASE + i * MAP_UNIT) != wanted[i] ||
		    map_at(BASE + (i + 1) * MAP_UNIT - 1) != wanted[i])
			return false;
	return map_at(BASE - 1) == NULL && map_at(BASE + BYTES) == NULL;
}

static void set(size_t from, size_t to, struct block *block)
{
	map_set(BASE + from * MAP_UNIT, BASE + to * MAP_UNIT, block);
	for (size_t i = from; i < to; i++)
		wanted[i] = block;
}

TEST(agrees_with_an_array)
{
	uint64_t state = 88172645463325252u;

	CHECK(map_at(BASE) == NULL);
	hp_lock(HP_LOCK_heap);
	CHECK(map_start(BASE, BYTES));
	CHECK(agrees());
	for (int i = 0; i < 4000; i++) {
		state ^= state << 13, state ^= state >> 7, state ^= state << 17;
		size_t unit = state % 4 == 0 ? 128 : 1; /* 2 MiB */
		size_t from = (state >> 8) % UNITS / unit * unit;
		size_t room = ((state >> 24) % (state >> 60 ? 300 : 3000) + 1) * unit;
		size_t to = from + room < UNITS ? from + room : UNITS;
		size_t which = (state >> 40) % 8;

		set(from, to, which < 7 ? &blocks[which] : NULL);
		if (i % 16 == 0 && !CHECK(agrees()))
			return;
	}
	CHECK(agrees());
	hp_unlock(HP_LOCK_heap);
}

/* A chunk that was one block is cut: old entries of the lower level must not appear. */
TEST(old_units_do_not_show)
{
	hp_lock(HP_LOCK_heap);
	CHECK(map_start(BASE, BYTES));
	set(3, 100, &blocks[0]);
	set(0, 256, &blocks[1]);
	CHECK(agrees());
	set(0, 256, NULL);
	CHECK(agrees());
	set(64, 65, &blocks[2]);
	CHECK(agrees());
	set(0, 256, &blocks[3]);
	set(200, 256, &blocks[4]);
	CHECK(agrees());
	hp_unlock(HP_LOCK_heap);
}

TEST(cut)
{
	hp_lock(HP_LOCK_heap);
	CHECK(map_start(BASE, BYTES));
	set(0, 200, &blocks[0]);
	map_cut(201 * MAP_UNIT);
	set(130, 140, &blocks[1]);
	for (size_t i = 0; i < UNITS; i++)
		CHECK(map_at(BASE + i * MAP_UNIT) == wanted[i]);
	hp_unlock(HP_LOCK_heap);
}

CHECK_MAIN()
