/*
 * buffer.c - memory for the bytes of copies and fills, which is reused.
 *
 * malloc() would map and unmap each large buffer, and each of its pages would cost a fault.
 * Children do not get the large buffers: fork() would copy their page tables.
 */
#include "engine.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HEAD  ((size_t)64)
#define LARGE ((size_t)64 << 10) /* smaller ones come from malloc() */
#define HUGE  ((size_t)2 << 20)
#define ROOM  ((size_t)96 << 20) /* of the large buffers that are kept */

/* Precedes the bytes. */
struct buffer {
	struct buffer *next;
	size_t bytes; /* with the head */
};

static struct buffer *kept; /* the one that was used last comes first */

static struct buffer *map_buffer(size_t bytes)
{
	size_t align = bytes >= HUGE ? HUGE : 0;
	char *at = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		return NULL;
	if (align != 0) {
		size_t before = -(uintptr_t)at % align;

		if (before != 0)
			munmap(at, before);
		munmap(at + before + bytes, align - before);
		at += before;
		madvise(at, bytes, MADV_HUGEPAGE);
	}
	madvise(at, bytes, MADV_DONTFORK);
	return (struct buffer *)at;
}

void *buffer_take(size_t bytes)
{
	size_t unit = bytes + HEAD > HUGE ? HUGE : LARGE;
	struct buffer *buffer = NULL;

	bytes += HEAD;
	if (bytes > LARGE)
		bytes = (bytes + unit - 1) / unit * unit;
	for (struct buffer **at = &kept; bytes >= LARGE && *at != NULL; at = &(*at)->next)
		if ((*at)->bytes >= bytes && (*at)->bytes / 4 <= bytes) {
			buffer = *at;
			*at = buffer->next;
			return (char *)buffer + HEAD;
		}
	buffer = bytes >= LARGE ? map_buffer(bytes) : malloc(bytes);
	if (buffer == NULL)
		return NULL;
	buffer->bytes = bytes;
	return (char *)buffer + HEAD;
}

void buffer_give(void *bytes)
{
	struct buffer *buffer = bytes != NULL ? (struct buffer *)((char *)bytes - HEAD) : NULL;
	size_t sum = 0;

	if (buffer == NULL)
		return;
	if (buffer->bytes < LARGE) {
		free(buffer);
		return;
	}
	buffer->next = kept;
	kept = buffer;
	for (struct buffer **at = &kept; *at != NULL;) {
		struct buffer *this = *at;

		sum += this->bytes;
		if (sum > ROOM || engine.lean) {
			*at = this->next;
			munmap(this, this->bytes);
		} else {
			at = &this->next;
		}
	}
}
