/*
 * parity.c - counts every driver call and every copied byte by CUPTI.
 *
 * A program loads this library (by ctypes, say) in addition to hotpin, and both counts are
 * compared: parity_start() before the first CUDA call, parity_stop(path) when the device is idle.
 * CUPTI allows one client for each process, so hotpin must run with HOTPIN_CUPTI=off.
 */
#define _GNU_SOURCE
#include <cupti.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define CBID_MOST 2048
#define KINDS     16

__attribute__((visibility("default"))) int parity_start(const char *libcupti);
__attribute__((visibility("default"))) int parity_stop(const char *path);

static _Atomic unsigned long calls[CBID_MOST];
static unsigned long long bytes_by_kind[KINDS], copies_by_kind[KINDS]; /* CUPTI's flush thread */
static void *cupti;
static CUpti_SubscriberHandle subscriber;

#define CUPTI(name) ((__typeof__(name) *)dlsym(cupti, #name))

static void CUPTIAPI on_call(void *arg, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *data)
{
	const CUpti_CallbackData *call = data;

	(void)arg;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && call->callbackSite == CUPTI_API_ENTER &&
	    id < CBID_MOST)
		atomic_fetch_add(&calls[id], 1);
}

static void CUPTIAPI want_buffer(uint8_t **ret, size_t *ret_bytes, size_t *ret_records)
{
	*ret_bytes = 4 << 20;
	*ret_records = 0;
	*ret = aligned_alloc(4096, *ret_bytes);
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t room,
				 size_t used)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)room;
	while (CUPTI(cuptiActivityGetNextRecord)(buffer, used, &record) == CUPTI_SUCCESS) {
		if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
			const CUpti_ActivityMemcpy6 *copy = (const void *)record;

			bytes_by_kind[copy->copyKind % KINDS] += copy->bytes;
			copies_by_kind[copy->copyKind % KINDS]++;
		} else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2) {
			const CUpti_ActivityMemcpyPtoP4 *copy = (const void *)record;

			bytes_by_kind[CUPTI_ACTIVITY_MEMCPY_KIND_PTOP] += copy->bytes;
			copies_by_kind[CUPTI_ACTIVITY_MEMCPY_KIND_PTOP]++;
		}
	}
	free(buffer);
}

int parity_start(const char *libcupti)
{
	cupti = dlopen(libcupti, RTLD_NOW);
	if (cupti == NULL) {
		fprintf(stderr, "parity: %s\n", dlerror());
		return -1;
	}
	CUptiResult result = CUPTI(cuptiSubscribe)(&subscriber, on_call, NULL);
	if (result == CUPTI_SUCCESS)
		result = CUPTI(cuptiEnableDomain)(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	if (result == CUPTI_SUCCESS)
		result = CUPTI(cuptiActivityRegisterCallbacks)(want_buffer, take_buffer);
	if (result == CUPTI_SUCCESS)
		result = CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMCPY);
	if (result == CUPTI_SUCCESS)
		result = CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_MEMCPY2);
	return result;
}

int parity_stop(const char *path)
{
	CUPTI(cuptiEnableDomain)(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
	CUPTI(cuptiActivityFlushAll)(0);

	FILE *file = fopen(path, "w");
	if (file == NULL)
		return -1;
	fprintf(file, "{\"calls\": {");
	const char *comma = "";
	for (unsigned id = 0; id < CBID_MOST; id++) {
		const char *name;
		unsigned long count = atomic_load(&calls[id]);

		if (count == 0 || CUPTI(cuptiGetCallbackName)(CUPTI_CB_DOMAIN_DRIVER_API, id,
							      &name) != CUPTI_SUCCESS)
			continue;
		fprintf(file, "%s\n  \"%s\": %lu", comma, name, count);
		comma = ",";
	}
	fprintf(file, "},\n\"bytes\": {");
	comma = "";
	for (unsigned kind = 0; kind < KINDS; kind++) {
		if (copies_by_kind[kind] == 0)
			continue;
		fprintf(file, "%s\n  \"%u\": [%llu, %llu]", comma, kind, copies_by_kind[kind],
			bytes_by_kind[kind]);
		comma = ",";
	}
	fprintf(file, "}}\n");
	return fclose(file);
}
