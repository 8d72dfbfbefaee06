/* A table of keys: rows, their reuse, and keys that collide. */
#include "check.h"
#include "random.h"
#include "base/hash.h"
#include "trace/keys.h"

#define ROWS 64u

static struct keys keys;

TEST(rows_are_numbered_in_order_and_reused)
{
	uint32_t *rows = keys_start(&keys, ROWS, sizeof(*rows));

	CHECK(rows != NULL && rows[0] == 0 && rows[ROWS] == 0);
	for (uint32_t i = 0; i < ROWS; i++) {
		CHECK_EQ(keys_find(&keys, i), KEYS_NONE);
		CHECK_EQ(keys_add(&keys, i), i);
		CHECK_EQ(keys_find(&keys, i), i);
	}
	CHECK_EQ(keys_add(&keys, ROWS), KEYS_NONE);
	CHECK_EQ(keys_find(&keys, ROWS), KEYS_NONE);

	keys_remove(&keys, 5);
	keys_remove(&keys, 9);
	CHECK_EQ(keys_find(&keys, 5), KEYS_NONE);
	CHECK_EQ(keys_add(&keys, 1000), 9);
	CHECK_EQ(keys_add(&keys, 1001), 5);
	CHECK_EQ(keys_add(&keys, 1002), KEYS_NONE);
	CHECK_EQ(keys_find(&keys, 1000), 9);
	CHECK_EQ(keys.rows, ROWS);
}

/* Returns a key whose slot is one of the last two, so that such keys form one run. */
static uint64_t crowded(uint64_t number)
{
	uint64_t key = number << 32;

	while (hp_hash(key, keys.bits) < 2 * ROWS - 2)
		key++;
	return key;
}

/* Keys of one run come and go at random.  Every key that is there is found, and no other. */
TEST(keys_of_one_run)
{
	uint64_t key[2 * ROWS], random = 1;
	uint32_t row[2 * ROWS], there = 0;

	CHECK(keys_start(&keys, ROWS, 1) != NULL);
	for (uint32_t i = 0; i < 2 * ROWS; i++) {
		key[i] = crowded(i);
		row[i] = KEYS_NONE;
	}
	for (unsigned turn = 0; turn < 20000; turn++) {
		uint32_t i = (uint32_t)random_below(&random, 2 * ROWS);

		if (row[i] == KEYS_NONE) {
			row[i] = keys_add(&keys, key[i]);
			CHECK_EQ(row[i] == KEYS_NONE, there == ROWS);
			there += row[i] != KEYS_NONE;
		} else {
			keys_remove(&keys, row[i]);
			row[i] = KEYS_NONE;
			there--;
		}
		for (uint32_t other = turn % 8; other < 2 * ROWS; other += 8)
			if (!CHECK_EQ(keys_find(&keys, key[other]), row[other]))
				return;
	}
	CHECK(there > 0);
}

CHECK_MAIN()
