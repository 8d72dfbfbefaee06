/*
 * Loads CUPTI at run time and enables its activity records.
 *
 * hotpin uses only activities.  It keeps no subscription, since CUPTI has one slot: with a
 * subscription of ours, a torch.profiler in the process would record nothing of the device.  It
 * never calls cuptiFinalize().
 */
#ifndef HP_TRACE_COLLECT_CUPTI_H
#define HP_TRACE_COLLECT_CUPTI_H

#include "base/cupti_find.h"
#include "trace/collect/cupti_min.h"

#include <stdbool.h>

struct cupti {
	void *handle;                 /* NULL: not loaded */
	uint32_t version;             /* as cuptiGetVersion() gives it; 0: unknown */
	char path[HP_CUPTI_PATH_MAX]; /* of the loaded library */
	unsigned enabled;             /* number of enabled kinds, in the order of cupti.c */
	bool tells_calls;             /* records of calls that copy are enabled */
	bool tells_launches;          /* records of calls that launch are enabled */

	int (*register_callbacks)(cupti_request_fn request, cupti_complete_fn complete);
	int (*enable)(uint32_t kind);
	int (*disable)(uint32_t kind);
	int (*flush_all)(uint32_t flag);
	int (*get_next_record)(uint8_t *buffer, size_t valid, uint8_t **record);
	int (*get_dropped)(void *context, uint32_t stream, size_t *ret_count);
	int (*get_timestamp)(uint64_t *ret_ns);
	int (*get_version)(uint32_t *ret_version);
	int (*get_result_string)(int result, const char **ret_text);
	int (*enable_call)(uint32_t function, uint8_t enable); /* since CUDA 12.4; NULL */
	int (*get_thread_type)(int *ret_type);
	int (*set_attribute)(int attribute, size_t *size, void *value);
};

/*
 * Loads the libcupti that hp_cupti_find() chooses.  Returns 0, or -ENOENT with the reason in
 * `ret_why`.  Calls dlopen(): no lock of ours may be held.
 */
int cupti_load(struct cupti *cupti, int driver_version, char *ret_why, size_t room);

/*
 * Registers the callbacks and enables each kind of record that hotpin collects.  At the first
 * refusal, disables all in reverse and writes the reason to `ret_why`.  Returns CUPTI's code,
 * CUPTI_OK on success.
 */
int cupti_enable(struct cupti *cupti, cupti_request_fn request, cupti_complete_fn complete,
		 char *ret_why, size_t room);

/*
 * Enables records of calls that copy, which cost each call some tenths of a microsecond.  True on
 * success.  False also if another client has changed how CUPTI numbers threads.
 */
bool cupti_enable_calls(struct cupti *cupti);

/* Enable and disable records of calls that launch kernels or graphs.  True on success. */
bool cupti_enable_launches(struct cupti *cupti);
void cupti_disable_launches(struct cupti *cupti);

/* Disables what cupti_enable() enabled, in reverse. */
void cupti_disable(struct cupti *cupti);

#endif
