/*
 * handle.c - opaque handles.
 *
 * A handle is the address of a slot, so any value can be checked without dereferencing it.  A freed
 * slot is reused for the next object of its kind, which exposes programs that use handles as keys.
 */
#include "engine.h"

#define SLOTS (1u << 18)

struct slot {
	void *object;
	uint32_t kind, next;
};

static struct slot slots[SLOTS];
static uint32_t used = 1, freed[H_COUNT];

void *handle_new(enum kind kind, void *object)
{
	uint32_t i = freed[kind];

	if (i != 0)
		freed[kind] = slots[i].next;
	else if (used < SLOTS)
		i = used++;
	else
		return NULL;
	slots[i].object = object;
	slots[i].kind = kind;
	return &slots[i];
}

static struct slot *slot_of(const void *handle)
{
	uintptr_t offset = (uintptr_t)handle - (uintptr_t)slots;

	if (offset >= sizeof(slots) || offset % sizeof(slots[0]) != 0)
		return NULL;
	return &slots[offset / sizeof(slots[0])];
}

void *handle_get(enum kind kind, const void *handle)
{
	struct slot *slot = slot_of(handle);

	return slot != NULL && slot->kind == (uint32_t)kind ? slot->object : NULL;
}

void handle_free(void *handle)
{
	struct slot *slot = slot_of(handle);

	if (slot == NULL || slot->object == NULL)
		return;
	slot->object = NULL;
	slot->next = freed[slot->kind];
	freed[slot->kind] = (uint32_t)(slot - slots);
}
