/*
 * python_places.c - numbers places by tables of fixed size.  One leads from code and instruction to
 * a place, another one from file, function and line to the place's number.
 *
 * Code may be freed, and other code may then have its address.  So the key of code includes a stamp
 * made of the objects that the code refers to.
 */
#include "trace/python/python_places.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/lock.h"
#include "trace/calls/operations.h"
#include "trace/keys.h"

#include <errno.h>
#include <string.h>

#define CODES_MOST  4096u /* a power of two */
#define TEXTS_MOST  2048u /* a power of two */
#define TEXT_BYTES  ((size_t)512 << 10)
#define NOWHERE     KEYS_NONE
#define FRAMES_LOOK 10 /* how far up to look for a frame of the program's own */

struct place {
	struct profile_source source;
	bool is_library;
};

struct text {
	const char *text;
	bool is_file; /* of the program's own code */
};

/* Under the lock trace, except for the addresses, which are constant after python_places_start().
 */
static struct keys code_keys, place_keys, text_keys;
static uint32_t *codes; /* their places; NULL: no place is known */
static struct place *places;
static struct text *texts;
static char *letters; /* TEXT_BYTES, of the texts */
static size_t letters_used;

static uint64_t key_of(const struct python_frame *frame)
{
	return hp_mix(hp_mix(frame->stamp, frame->code), frame->at);
}

/* With the lock.  Returns the row of a stored copy of the text.  KEYS_NONE: there is no room. */
static uint32_t keep_text(const char *text)
{
	size_t length = strlen(text) + 1;
	uint64_t hash = hp_mix_text(0, text);
	uint32_t row = keys_find(&text_keys, hash);

	if (row != KEYS_NONE)
		return row;
	if (letters_used + length > TEXT_BYTES || (row = keys_add(&text_keys, hash)) == KEYS_NONE)
		return KEYS_NONE;
	texts[row].text = memcpy(letters + letters_used, text, length);
	letters_used += length;
	return row;
}

static bool is_library(const char *file)
{
	return strstr(file, "/site-packages/") != NULL || strstr(file, "/dist-packages/") != NULL ||
	       strstr(file, "/lib/python3") != NULL || strncmp(file, "<frozen ", 8) == 0;
}

/* With the lock.  Returns the number of a place; NOWHERE: there is no room. */
static uint32_t place_of(const struct python_place *place)
{
	uint32_t file = keep_text(place->file), function = keep_text(place->function);
	uint64_t hash = hp_mix(hp_mix(place->line, file), function);

	if (file == KEYS_NONE || function == KEYS_NONE)
		return NOWHERE;
	uint32_t row = keys_find(&place_keys, hash);
	if (row == KEYS_NONE && (row = keys_add(&place_keys, hash)) != KEYS_NONE) {
		bool library = is_library(place->file);

		places[row] =
			(struct place){ { texts[file].text, texts[function].text, place->line },
					library };
		texts[file].is_file |= !library && place->file[0] == '/';
	}
	return row;
}

/*
 * Reads the file, function and line of a frame.  `thread` is NULL for the calling thread.  False: a
 * later attempt may succeed.
 */
static bool learn(const struct interpreter_thread *thread, const struct python_frame *frame)
{
	struct python_place place;
	static uint32_t oldest; /* under the lock: the next row to be used again */
	bool known = interpreter_place(thread, frame, &place);

	if (!known && thread != NULL)
		return false;

	hp_lock(HP_LOCK_trace);
	uint32_t row = keys_find(&code_keys, key_of(frame));
	if (row == KEYS_NONE) {
		if (code_keys.rows == CODES_MOST)
			keys_remove(&code_keys, oldest++ % CODES_MOST);
		row = keys_add(&code_keys, key_of(frame));
	}
	codes[row] = known ? place_of(&place) : NOWHERE;
	hp_unlock(HP_LOCK_trace);
	return true;
}

/* With the lock.  Writes the places of frames up to the first that is new or has no place. */
static size_t find(const struct python_frame *frame, size_t count, uint32_t *ret, bool *ret_unseen)
{
	size_t found = 0;

	*ret_unseen = false;
	for (; found < count; found++) {
		uint32_t row = keys_find(&code_keys, key_of(&frame[found]));

		*ret_unseen = row == KEYS_NONE;
		if (*ret_unseen || codes[row] == NOWHERE)
			break;
		ret[found] = codes[row];
	}
	return found;
}

/* With the lock.  Returns the first place up the stack in the program's own code, or `count`. */
static size_t first_own(const uint32_t *place, size_t count)
{
	size_t own = 0;

	while (own < count && places[place[own]].is_library)
		own++;
	return own;
}

/* Writes the places of all frames. */
static void find_all(const struct interpreter_thread *thread, size_t most, uint32_t *ret,
		     size_t *ret_count, size_t *ret_own)
{
	struct python_frame frame[FRAMES_LOOK];
	size_t count = interpreter_frames(thread, most, frame);
	bool unseen = count > 0;

	*ret_count = *ret_own = 0;
	for (size_t tries = 0; unseen && tries <= count; tries++) {
		hp_lock(HP_LOCK_trace);
		*ret_count = find(frame, count, ret, &unseen);
		*ret_own = first_own(ret, *ret_count);
		hp_unlock(HP_LOCK_trace);
		if (!unseen)
			break;
		uint64_t from = hp_now_ns();
		unseen = learn(thread, &frame[*ret_count]);
		if (thread == NULL)
			operations_rare(from);
	}
}

/*
 * Chooses the innermost frames.  If all of them are in libraries, the nearest caller outside of
 * libraries replaces the last one.
 */
static void choose(const struct interpreter_thread *thread, uint32_t ret[FRAMES_PYTHON_MOST],
		   size_t *ret_depth)
{
	uint32_t place[FRAMES_LOOK];
	size_t count, own;

	find_all(thread, FRAMES_PYTHON_MOST, place, &count, &own);
	if (count == FRAMES_PYTHON_MOST && own == count)
		find_all(thread, FRAMES_LOOK, place, &count, &own);
	if (own >= FRAMES_PYTHON_MOST && own < count)
		place[FRAMES_PYTHON_MOST - 1] = place[own];
	*ret_depth = count < FRAMES_PYTHON_MOST ? count : FRAMES_PYTHON_MOST;
	memcpy(ret, place, *ret_depth * sizeof(*ret));
}

int python_places_start(void)
{
	places = keys_start(&place_keys, PYTHON_PLACES_MOST, sizeof(*places));
	texts = keys_start(&text_keys, TEXTS_MOST, sizeof(*texts));
	letters = hp_arena_alloc(TEXT_BYTES);
	if (places == NULL || texts == NULL || letters == NULL)
		return -ENOMEM;
	codes = keys_start(&code_keys, CODES_MOST, sizeof(*codes));
	return codes != NULL ? 0 : -ENOMEM;
}

void python_places_walk(struct frames_way *way, bool known)
{
	if (codes == NULL || (known && !interpreter_is_known()))
		return;
	if (!known) {
		uint64_t from = hp_now_ns();

		interpreter_look();
		operations_rare(from);
	}
	choose(NULL, way->python, &way->python_depth);
	for (size_t i = 0; i < way->python_depth; i++)
		way->hash = hp_mix(way->hash, way->python[i] + 1);
}

void python_places_climb(const void *frame, struct frames_way *ret)
{
	if (frame == NULL)
		*ret = (struct frames_way){ .depth = 0 };
	else
		python_places_walk(ret, frames_walk(frame, ret));
}

size_t python_places_of(const struct interpreter_thread *thread, uint32_t ret[FRAMES_PYTHON_MOST])
{
	size_t depth;

	choose(thread, ret, &depth);
	return depth;
}

void python_places_read(uint32_t place, struct profile_source *ret)
{
	*ret = hp_locked(HP_LOCK_trace, places[place].source);
}

size_t python_places_texts(void)
{
	return hp_locked(HP_LOCK_trace, text_keys.rows);
}

const char *python_places_file(size_t text)
{
	return hp_locked(HP_LOCK_trace, texts[text].is_file ? texts[text].text : NULL);
}
