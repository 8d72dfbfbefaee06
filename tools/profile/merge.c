/*
 * merge.c - merges records by the rules of their fields.
 */
#include "profile/merge.h"
#include "profile/sorted_lists.h"

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

static void merge_part(const struct profile *owner, const struct profile_field *field,
		       const void *const *parts, size_t count, void *ret)
{
	const void **inner = profile_allocate(owner, count, sizeof(*inner));

	for (size_t i = 0; i < count; i++)
		inner[i] = (const char *)parts[i] + field->at;
	merge_records(owner, field->record, inner, count, ret);
}

struct keys {
	const struct profile *owner; /* of the modules */
	struct profile_table table;
};

static int compare_keys(const void *a, const void *b, const struct profile_field *field,
			const struct profile *owner)
{
	if (field->kind == FIELD_FRAMES)
		return sorted_frames(owner, (const void *)((const char *)a + field->at),
				     (const void *)((const char *)b + field->at));
	if (field->kind == FIELD_TEXT)
		return strcmp(text_at(a, field), text_at(b, field));
	return sorted_numbers(number_at(a, field), number_at(b, field));
}

static int by_keys(const void *a, const void *b, void *arg)
{
	const struct keys *keys = arg;
	int order = 0;

	for (size_t i = 0; i < keys->table.count && order == 0; i++) {
		const struct profile_field *field = &keys->table.fields[i];

		if (field->rule == KEY || field->kind == FIELD_INDEX || field->kind == FIELD_FRAMES)
			order = compare_keys(a, b, field, keys->owner);
	}
	return order;
}

struct order {
	merge_compare compare;
	void *arg;
};

/* Equal entries stay in their order. */
static int by_order(const void *left, const void *right, void *arg)
{
	const char *a = *(const char *const *)left, *b = *(const char *const *)right;
	const struct order *order = arg;

	return order->compare(a, b, order->arg) ?: sorted_numbers((intptr_t)a, (intptr_t)b);
}

void merge_find_first(const struct profile *owner, const void *list, size_t count, size_t size,
		      merge_compare compare, void *arg, size_t *ret)
{
	const char **sorted = profile_allocate(owner, count, sizeof(*sorted)), *first = list;

	for (size_t i = 0; i < count; i++)
		sorted[i] = (const char *)list + i * size;
	qsort_r(sorted, count, sizeof(*sorted), by_order, &(struct order){ compare, arg });
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || compare(first, sorted[i], arg) != 0)
			first = sorted[i];
		ret[(size_t)(sorted[i] - (const char *)list) / size] =
			(size_t)(first - (const char *)list) / size;
	}
}

size_t merge_equal(const struct profile *owner, enum profile_record_id id, void *list, size_t count,
		   size_t *first)
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
		size_t many = 0;

		if (first[i] != i)
			continue;
		/* No entry comes after the first by an index of 0. */
		for (size_t at = i; many == 0 || at != 0; at = next[at])
			group[many++] = (char *)list + at * size;
		/* The entries before i have been merged, so the result may replace one of them. */
		void *to = memmove((char *)list + merged++ * size, group[0], size);
		if (many > 1)
			merge_records(owner, id, group, many, to);
	}
	for (size_t i = 0, number = 0; i < count; i++)
		first[i] = first[i] == i ? number++ : first[first[i]];
	return merged;
}

size_t merge_list(const struct profile *owner, enum profile_record_id id, void *list, size_t count,
		  size_t *ret)
{
	struct keys keys = { owner, profile_table(id) };

	merge_find_first(owner, list, count, keys.table.size, by_keys, &keys, ret);
	return merge_equal(owner, id, list, count, ret);
}

/* Joins lists, and merges them by keys if there are any.  Without one of them, the sum is unknown.
 */
static void merge_lists(const struct profile *owner, const struct profile_field *field,
			const void *const *parts, size_t count, void *record)
{
	size_t size = profile_table(field->record).size, *ret_count, most = 0, all = 0;
	void **ret = (void **)((char *)record + field->at);
	bool keyed = field->rule == KEYED;

	ret_count = (size_t *)((char *)record + field->count);
	for (size_t i = 0; i < count; i++) {
		bool known = *(void *const *)((const char *)parts[i] + field->at) != NULL;

		if (keyed && !known) {
			*ret = NULL;
			*ret_count = 0;
			return;
		}
		most += *(const size_t *)((const char *)parts[i] + field->count);
	}
	char *list = profile_allocate(owner, most, size);
	for (size_t i = 0; i < count; i++) {
		const char *part = *(char *const *)((const char *)parts[i] + field->at);
		size_t length = *(const size_t *)((const char *)parts[i] + field->count);

		if (length > 0)
			memcpy(list + all * size, part, length * size);
		all += length;
	}
	*ret = keyed || most > 0 ? list : NULL;
	*ret_count = keyed ? merge_list(owner, field->record, list, most,
					profile_allocate(owner, most, sizeof(size_t)))
			   : most;
}

static void merge_field(const struct profile *owner, const struct profile_field *field,
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
	case FIELD_LIST:
	case FIELD_SHORT_LIST:
		merge_lists(owner, field, parts, count, ret);
		break;
	default:
		break;
	}
}

void merge_records(const struct profile *owner, enum profile_record_id id, const void *const *parts,
		   size_t count, void *ret)
{
	const struct profile_table table = profile_table(id);

	for (size_t i = 0; i < table.count; i++)
		if (table.fields[i].rule != NONE || table.fields[i].kind == FIELD_INDEX)
			merge_field(owner, &table.fields[i], parts, count, ret);
}
