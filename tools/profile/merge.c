/*
 * merge.c - merges records by the rules of their fields.
 */
#include "profile/merge.h"

#include <stdlib.h>
#include <string.h>

static int64_t number_at(const void *record, const struct profile_field *field)
{
	return *(const int64_t *)((const char *)record + field->at);
}

static const char *text_at(const void *record, const struct profile_field *field)
{
	const char *text = *(const char *const *)((const char *)record + field->at);

	return text != NULL ? text : "";
}

static int64_t merge_numbers(const struct profile_field *field, const void *const *parts,
			     size_t count)
{
	int64_t merged = number_at(parts[0], field);

	for (size_t i = 1; i < count; i++) {
		int64_t part = number_at(parts[i], field);

		if (field->kind == FIELD_INDEX)
			merged = merged == part ? merged : UNKNOWN;
		else if (field->rule == SUM)
			merged = profile_add(merged, part);
		else if (field->rule == MOST ? part > merged : merged < 0)
			merged = part;
	}
	return merged;
}

static const char *first_text(const struct profile_field *field, const void *const *parts,
			      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *text = *(const char *const *)((const char *)parts[i] + field->at);

		if (text != NULL)
			return text;
	}
	return NULL;
}

static bool any_flag(const struct profile_field *field, const void *const *parts, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= *(const bool *)((const char *)parts[i] + field->at);
	return any;
}

static void merge_part(struct profile *owner, const struct profile_field *field,
		       const void *const *parts, size_t count, void *ret)
{
	const void **inner = profile_allocate(owner, count, sizeof(*inner));

	for (size_t i = 0; i < count; i++)
		inner[i] = (const char *)parts[i] + field->at;
	merge_records(owner, field->record, inner, count, ret);
}

static int by_keys(const void *a, const void *b, void *arg)
{
	const struct profile_table *table = arg;
	int order = 0;

	for (size_t i = 0; i < table->count && order == 0; i++) {
		const struct profile_field *field = &table->fields[i];

		if (field->rule != KEY)
			continue;
		if (field->kind == FIELD_TEXT)
			order = strcmp(text_at(a, field), text_at(b, field));
		else
			order = (number_at(a, field) > number_at(b, field)) -
				(number_at(a, field) < number_at(b, field));
	}
	return order;
}

struct order {
	merge_compare compare;
	void *arg;
};

/* Equal items stay in their order. */
static int by_order(const void *left, const void *right, void *arg)
{
	const void *const *a = *(const void *const *const *)left;
	const void *const *b = *(const void *const *const *)right;
	const struct order *order = arg;
	int result = order->compare(*a, *b, order->arg);

	return result != 0 ? result : (a > b) - (a < b);
}

void merge_find_first(struct profile *owner, const void *const *items, size_t count,
		      merge_compare compare, void *arg, size_t *ret)
{
	const void *const **sorted = profile_allocate(owner, count, sizeof(*sorted));
	const void *const *first = items;

	for (size_t i = 0; i < count; i++)
		sorted[i] = &items[i];
	qsort_r(sorted, count, sizeof(*sorted), by_order, &(struct order){ compare, arg });
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare(*first, *sorted[i], arg) != 0)
			first = sorted[i];
		ret[sorted[i] - items] = (size_t)(first - items);
	}
}

size_t merge_equal(struct profile *owner, enum profile_record_id id, const void *const *items,
		   size_t count, const size_t *first, void *ret)
{
	size_t size = profile_table(id).size, merged = 0;
	size_t *next = profile_allocate(owner, count, sizeof(*next));
	size_t *last = profile_allocate(owner, count, sizeof(*last));
	const void **group = profile_allocate(owner, count, sizeof(*group));

	for (size_t i = 0; i < count; i++) {
		if (first[i] != i)
			next[last[first[i]]] = i;
		last[first[i]] = i;
	}
	for (size_t i = 0; i < count; i++) {
		char *to = (char *)ret + merged * size;
		size_t many = 0;

		if (first[i] != i)
			continue;
		/* No item comes after the first by an index of 0. */
		for (size_t at = i; many == 0 || at != 0; at = next[at])
			group[many++] = items[at];
		memcpy(to, items[i], size);
		if (many > 1)
			merge_records(owner, id, group, many, to);
		merged++;
	}
	return merged;
}

/* Merges lists, by keys if there are any.  Without one of the lists, their sum is unknown. */
static void merge_lists(struct profile *owner, const struct profile_field *field,
			const void *const *parts, size_t count, void *record)
{
	void **ret = (void **)((char *)record + field->at);
	size_t *ret_count = (size_t *)((char *)record + field->count), most = 0, all = 0;
	bool keyed = field->rule == KEYED;

	for (size_t i = 0; i < count; i++) {
		bool known = *(void *const *)((const char *)parts[i] + field->at) != NULL;

		if (keyed && !known) {
			*ret = NULL;
			*ret_count = 0;
			return;
		}
		most += *(const size_t *)((const char *)parts[i] + field->count);
	}
	struct profile_table table = profile_table(field->record);
	const void **items = profile_allocate(owner, most, sizeof(*items));
	for (size_t i = 0; i < count; i++) {
		const char *list = *(char *const *)((const char *)parts[i] + field->at);
		size_t length = *(const size_t *)((const char *)parts[i] + field->count);

		for (size_t j = 0; j < length; j++)
			items[all++] = list + j * table.size;
	}
	size_t *first = profile_allocate(owner, most, sizeof(*first));
	for (size_t i = 0; i < most; i++)
		first[i] = i;
	if (keyed)
		merge_find_first(owner, items, most, by_keys, &table, first);
	*ret = keyed || most > 0 ? profile_allocate(owner, most, table.size) : NULL;
	*ret_count = merge_equal(owner, field->record, items, most, first, *ret);
}

/* Adds up counters; their names are those of the first part. */
static void merge_counters(struct profile *owner, const struct profile_field *field,
			   const void *const *parts, size_t count, struct profile_entries *ret)
{
	const struct profile_entries *all =
		(const struct profile_entries *)((const char *)parts[0] + field->at);

	ret->count = all->count;
	ret->items = profile_allocate(owner, all->count, sizeof(*ret->items));
	if (all->count > 0)
		memcpy(ret->items, all->items, all->count * sizeof(*ret->items));
	for (size_t i = 1; i < count; i++) {
		all = (const struct profile_entries *)((const char *)parts[i] + field->at);
		for (size_t j = 0; j < all->count; j++)
			for (size_t k = 0; k < ret->count; k++)
				if (strcmp(ret->items[k].name, all->items[j].name) == 0)
					ret->items[k].value = profile_add(ret->items[k].value,
									  all->items[j].value);
	}
}

static void merge_field(struct profile *owner, const struct profile_field *field,
			const void *const *parts, size_t count, char *ret)
{
	void *at = ret + field->at;

	switch ((enum profile_field_kind)field->kind) {
	case FIELD_NUMBER:
	case FIELD_INDEX:
		*(int64_t *)at = merge_numbers(field, parts, count);
		break;
	case FIELD_TEXT:
		*(const char **)at = first_text(field, parts, count);
		break;
	case FIELD_FLAG:
		*(bool *)at = any_flag(field, parts, count);
		break;
	case FIELD_PART:
		merge_part(owner, field, parts, count, at);
		break;
	case FIELD_COUNTERS:
		merge_counters(owner, field, parts, count, at);
		break;
	case FIELD_LIST:
	case FIELD_SHORT_LIST:
		merge_lists(owner, field, parts, count, ret);
		break;
	default:
		break;
	}
}

void merge_records(struct profile *owner, enum profile_record_id id, const void *const *parts,
		   size_t count, void *ret)
{
	const struct profile_table table = profile_table(id);

	for (size_t i = 0; i < table.count; i++)
		if (table.fields[i].rule != NONE || table.fields[i].kind == FIELD_INDEX)
			merge_field(owner, &table.fields[i], parts, count, ret);
}
