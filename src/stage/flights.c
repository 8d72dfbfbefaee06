/* flights.c - a short list of units in flight.  The list is sorted, because numbers only grow. */
#include "stage/flights.h"
#include "base/parse.h"
#include "base/protections.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

void flights_add(struct flights *flights, const struct flight *flight)
{
	assert(flights->count < FLIGHTS_MOST);
	flights->list[flights->count++] = *flight;
}

/*
 * True if the event of `complete` covers `other`.  Two threads may leave units on one stream in
 * another order than they record their events.
 */
static bool covers(const struct flight *complete, const struct flight *other)
{
	bool earlier = other->number <=
		       (hp_keeps(in_flight_in_order) ? complete->before : complete->number);
	bool same = complete->stream != 0 && other->stream == complete->stream;

	return other->number == complete->number ||
	       (earlier && other->user == complete->user && other->event != NULL &&
		(same || !hp_keeps(in_flight_by_stream)));
}

uint64_t flights_end(struct flights *flights, const struct flight *complete)
{
	const struct flight by = *complete;
	uint64_t units = 0;
	unsigned left = 0;

	for (unsigned i = 0; i < flights->count; i++)
		if (covers(&by, &flights->list[i]))
			units |= flights->list[i].units;
		else
			flights->list[left++] = flights->list[i];
	flights->count = left;
	return units;
}

uint64_t flights_forget(struct flights *flights, unsigned user)
{
	uint64_t units = 0;
	unsigned left = 0;

	for (unsigned i = 0; i < flights->count; i++)
		if (flights->list[i].user == user)
			units |= flights->list[i].units;
		else
			flights->list[left++] = flights->list[i];
	flights->count = left;
	return units;
}

void flights_of(const struct flights *flights, unsigned user, struct flights *ret)
{
	ret->count = 0;
	for (unsigned i = 0; i < flights->count; i++)
		if (flights->list[i].user == user && flights->list[i].event != NULL)
			ret->list[ret->count++] = flights->list[i];
}

uint64_t flights_units(const struct flights *flights)
{
	uint64_t units = 0;

	for (unsigned i = 0; i < flights->count; i++)
		units |= flights->list[i].units;
	return units;
}

const struct flight *flights_last_of(const struct flights *flights, unsigned long long stream)
{
	for (unsigned i = flights->count; stream != 0 && i-- > 0;)
		if (flights->list[i].stream == stream)
			return &flights->list[i];
	return NULL;
}

/* Returns the middle flight of a stream, NULL: there is none, and how many the stream has. */
static const struct flight *middle_of(const struct flights *flights, unsigned long long stream,
				      unsigned *ret_count)
{
	const struct flight *of[FLIGHTS_MOST];

	*ret_count = 0;
	for (unsigned i = 0; stream != 0 && i < flights->count; i++)
		if (flights->list[i].stream == stream)
			of[(*ret_count)++] = &flights->list[i];
	return *ret_count != 0 ? of[*ret_count / 2] : NULL;
}

static const struct flight *middle_of_most(const struct flights *flights)
{
	const struct flight *best = NULL;
	unsigned most = 0, count;

	for (unsigned i = 0; i < flights->count; i++) {
		const struct flight *middle = middle_of(flights, flights->list[i].stream, &count);

		if (count > most) {
			best = middle;
			most = count;
		}
	}
	return best;
}

static bool is_listed(const struct flight *const *list, unsigned count, const struct flight *one)
{
	while (count-- > 0)
		if (list[count] == one)
			return true;
	return false;
}

unsigned flights_to_ask(const struct flights *flights, unsigned long long stream,
			const struct flight *ret[FLIGHTS_ASKED_MOST])
{
	unsigned count = 0, of;

	if (flights->count == 0)
		return 0;
	const struct flight *wanted[FLIGHTS_ASKED_MOST] = {
		middle_of_most(flights),
		middle_of(flights, stream, &of),
		&flights->list[0],
		&flights->list[flights->count - 1],
	};
	for (size_t i = 0; i < HP_LEN(wanted); i++)
		if (wanted[i] != NULL && !is_listed(ret, count, wanted[i]))
			ret[count++] = wanted[i];
	return count;
}
