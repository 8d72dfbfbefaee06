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
	/* Its behavior; set before trace_start(), or during the run if that makes sense. */
	uint32_t version;
	int register_result;
	int enable_result[64];        /* by kind */
	_Atomic int64_t clock_offset; /* its clock minus CLOCK_MONOTONIC */
	int64_t early_error;          /* error of its clock until the first record */
	int timestamp_result, dropped_result;
	size_t extra_bytes;     /* by which each record is longer than our declaration */
	_Atomic size_t dropped; /* reported once */
	_Atomic bool hangs;     /* a flush does not return while this is set */
	_Atomic bool stuck;     /* cuptiActivityGetNextRecord() does not return while this is set */
	uint32_t correlation;   /* of the next recorded copies and kernels */
	_Atomic bool late; /* a flush returns without the buffers: mock_complete() completes them */
	_Atomic bool silent; /* another client has taken the callbacks */

	/* What the client did. */
	char log[512]; /* "register +10 +1 -1 flush0 .." */
	_Atomic unsigned flushes;
	unsigned flushed_without_buffer; /* the real CUPTI deadlocks */
	unsigned null_buffers, dirty_buffers, forbidden_calls;
	unsigned buffers_requested;
	_Atomic unsigned buffers_given, buffers_read;
	int thread_type;        /* how threads are numbered */
	bool zeroed;            /* the client has guaranteed cleared buffers */
	unsigned calls_enabled; /* driver functions whose calls are recorded */
};

#define MOCK_EXPORT __attribute__((visibility("default")))

MOCK_EXPORT extern struct mock_cupti mock_cupti;

/* Each records one activity; times are on CLOCK_MONOTONIC, and 0 stays 0. */
MOCK_EXPORT void mock_copy(uint32_t kind, uint8_t copy_kind, uint8_t source, uint8_t target,
			   uint64_t bytes, uint64_t start, uint64_t end);
/* Records a driver call by `thread`, if calls are enabled. */
MOCK_EXPORT void mock_call(uint32_t function, uint32_t thread, uint32_t correlation, uint64_t start,
			   uint64_t end);
MOCK_EXPORT void mock_memset(uint64_t bytes, uint64_t start, uint64_t end);
MOCK_EXPORT void mock_kernel(const char *name, uint32_t device, uint64_t start, uint64_t end);
MOCK_EXPORT void mock_other(uint32_t kind);

/* Writes to the log file only. */
MOCK_EXPORT void mock_note(const char *text);

/* Completes the current buffers, as if they were full. */
MOCK_EXPORT void mock_complete(void);

/* The same, and waits until every completed buffer has been read, for a minute at most. */
MOCK_EXPORT void mock_read(void);

/* Requests `count` buffers and keeps them; returns the sum of their bytes. */
MOCK_EXPORT size_t mock_hog(unsigned count);

/* In the child of a fork: a thread that does not exist there may have held the lock. */
MOCK_EXPORT void mock_after_fork_child(void);

#endif
