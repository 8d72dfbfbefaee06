/*
 * An imitation of libcupti that records what a test requests, and detects calls that a client must
 * not make.
 */
#ifndef HP_TEST_MOCK_CUPTI_H
#define HP_TEST_MOCK_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mock_cupti {
	/* How it behaves; set before trace_start(), or while it runs where that makes sense. */
	uint32_t version;
	int register_result;
	int enable_result[64];        /* by kind */
	_Atomic int64_t clock_offset; /* its clock less CLOCK_MONOTONIC */
	int64_t early_error;          /* how far off its clock is until the first record */
	int timestamp_result, dropped_result;
	size_t extra_bytes;     /* that each record is longer than ours know it */
	_Atomic size_t dropped; /* told once */
	_Atomic bool hangs;     /* a flush does not return while this is set */
	const char *other;      /* who has it; NULL: nobody */
	uint32_t correlation;   /* of the copies and kernels that are recorded next */
	_Atomic bool late;   /* a flush returns without the buffers: mock_complete() gives them */
	_Atomic bool silent; /* another client has taken the callbacks */

	/* What was done to it. */
	char log[512]; /* "register +10 +1 -1 flush0 .." */
	_Atomic unsigned flushes, timestamps;
	unsigned flushed_without_buffer; /* the real one deadlocks */
	unsigned null_buffers, dirty_buffers, forbidden_calls;
	unsigned buffers_requested;
	_Atomic unsigned buffers_given, buffers_read;
	bool zeroed;            /* the client has promised clear buffers */
	unsigned subscribers;   /* of ours, that are left */
	unsigned calls_enabled; /* functions of the driver whose calls are recorded */
};

#define MOCK_EXPORT __attribute__((visibility("default")))

MOCK_EXPORT extern struct mock_cupti mock_cupti;

/* Each records one activity; times on CLOCK_MONOTONIC, 0 stays 0. */
MOCK_EXPORT void mock_copy(uint32_t kind, uint8_t copy_kind, uint8_t source, uint8_t target,
			   uint64_t bytes, uint64_t start, uint64_t end);
/* A call of the driver by `thread`, if such are wanted. */
MOCK_EXPORT void mock_call(uint32_t function, uint32_t thread, uint32_t correlation, uint64_t start,
			   uint64_t end);
MOCK_EXPORT void mock_memset(uint64_t bytes, uint64_t start, uint64_t end);
MOCK_EXPORT void mock_memory(uint32_t operation, uint32_t memory_kind, uint32_t device,
			     uint64_t address, uint64_t bytes, uint64_t at);
MOCK_EXPORT void mock_kernel(const char *name, uint32_t device, uint64_t start, uint64_t end);
MOCK_EXPORT void mock_other(uint32_t kind);

/* Into the log file alone. */
MOCK_EXPORT void mock_note(const char *text);

/* Completes the buffers in use, as when they are full. */
MOCK_EXPORT void mock_complete(void);

/*
 * The same, and waits until every buffer completed so far has been read to its end, for a
 * minute at most.
 */
MOCK_EXPORT void mock_read(void);

/* Asks for `count` buffers and keeps them; returns how many bytes it got all together. */
MOCK_EXPORT size_t mock_hog(unsigned count);

/* In the child of a fork: a thread that is not there may have held the lock. */
MOCK_EXPORT void mock_after_fork_child(void);

#endif
