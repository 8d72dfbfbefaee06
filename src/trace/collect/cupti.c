/*
 * cupti.c - looks up each function of libcupti, and explains its refusals.
 *
 * CUDA 11.0 is the oldest whose libcupti is looked for.  It has every function except
 * cuptiActivityEnableDriverApi(): the others are in the headers of CUDA 9.
 */
#define _GNU_SOURCE
#include "trace/collect/cupti.h"
#include "base/cupti_find.h"
#include "base/log.h"
#include "base/parse.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/*
 * Kernels first: their instrumentation is generated when a module is loaded.  CONCURRENT_KERNEL,
 * because KERNEL would serialize kernels and so remove the overlap to be measured.
 */
static const struct {
	uint32_t kind;
	const char *name;
} kinds[] = {
	{ CUPTI_CONCURRENT_KERNEL, "kernels" },
	{ CUPTI_MEMCPY, "copies" },
	{ CUPTI_MEMCPY2, "copies between devices" },
	{ CUPTI_MEMSET, "memsets" },
};

static void find_path(struct cupti *cupti)
{
	struct link_map *map;

	if (dlinfo(cupti->handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != NULL)
		snprintf(cupti->path, sizeof(cupti->path), "%s", map->l_name);
}

int cupti_load(struct cupti *cupti, int driver_version, char *ret_why, size_t room)
{
	const struct {
		const char *name;
		void *slot;
	} functions[] = {
		{ "cuptiActivityRegisterCallbacks", &cupti->register_callbacks },
		{ "cuptiActivityEnable", &cupti->enable },
		{ "cuptiActivityDisable", &cupti->disable },
		{ "cuptiActivityFlushAll", &cupti->flush_all },
		{ "cuptiActivityGetNextRecord", &cupti->get_next_record },
		{ "cuptiActivityGetNumDroppedRecords", &cupti->get_dropped },
		{ "cuptiGetTimestamp", &cupti->get_timestamp },
		{ "cuptiGetVersion", &cupti->get_version },
		{ "cuptiGetResultString", &cupti->get_result_string },
		{ "cuptiActivityEnableDriverApi", &cupti->enable_call },
		{ "cuptiGetThreadIdType", &cupti->get_thread_type },
		{ "cuptiActivitySetAttribute", &cupti->set_attribute },
	};

	memset(cupti, 0, sizeof(*cupti));
	cupti->handle = hp_cupti_find(driver_version, ret_why, room);
	if (cupti->handle == NULL)
		return -ENOENT;
	find_path(cupti);
	for (size_t i = 0; i < HP_LEN(functions); i++) {
		void *address = dlsym(cupti->handle, functions[i].name);

		if (address == NULL && functions[i].slot != &cupti->enable_call) {
			snprintf(ret_why, room, "%.200s has no %s", cupti->path, functions[i].name);
			return -ENOENT;
		}
		memcpy(functions[i].slot, &address, sizeof(address));
	}
	if (cupti->get_version(&cupti->version) != CUPTI_OK)
		cupti->version = 0;
	return 0;
}

static void explain(const struct cupti *cupti, int result, const char *what, char *ret_why,
		    size_t room)
{
	const char *text = NULL, *hint = "";

	switch (result) {
	case CUPTI_MAX_LIMIT_REACHED:
	case CUPTI_NOT_COMPATIBLE: /* since CUDA 13.3: the first tool uses the newer interface */
	case CUPTI_DISABLED:
	case CUPTI_TAKEN:
		hint = "CUPTI is in use by another tool";
		break;
	case CUPTI_INSUFFICIENT_PRIVILEGES:
	case CUPTI_VGPU_PRIVILEGES:
		hint = "CUPTI is not permitted; try --cap-add SYS_ADMIN or the driver option "
		       "NVreg_RestrictProfilingToAdminUsers=0";
		break;
	case CUPTI_CONFIDENTIAL ... CUPTI_WSL:
		hint = "CUPTI does not support this kind of device";
		break;
	default:
		hint = "CUPTI refused";
	}
	if (cupti->get_result_string(result, &text) != CUPTI_OK || text == NULL)
		text = "error";
	snprintf(ret_why, room, "%s (%s: %.64s %d)", hint, what, text, result);
}

int cupti_enable(struct cupti *cupti, cupti_request_fn request, cupti_complete_fn complete,
		 char *ret_why, size_t room)
{
	int result = cupti->register_callbacks(request, complete);

	if (result != CUPTI_OK) {
		explain(cupti, result, "callbacks", ret_why, room);
		return result;
	}
	for (size_t i = 0; i < HP_LEN(kinds); i++) {
		result = cupti->enable(kinds[i].kind);
		if (result != CUPTI_OK) {
			explain(cupti, result, kinds[i].name, ret_why, room);
			cupti_disable(cupti);
			return result;
		}
		cupti->enabled++;
	}
	return CUPTI_OK;
}

/* Each list ends with 0. */
static const uint32_t copy_calls[] = {
#define COPY_CALL(function, number) number,
#include "trace/collect/copy_calls.def"
	0
};

static const uint32_t launch_calls[] = {
#define LAUNCH_CALL(function, number) number,
#include "trace/collect/launch_calls.def"
	0
};

static void disable_calls(struct cupti *cupti, const uint32_t *calls)
{
	for (; *calls != 0; calls++)
		cupti->enable_call(*calls, 0);
}

static bool enable_calls(struct cupti *cupti, const uint32_t *calls)
{
	const uint32_t *call = calls;

	if (cupti->enable_call == NULL)
		return false;
	while (*call != 0 && cupti->enable_call(*call, 1) == CUPTI_OK)
		call++;
	if (*call != 0)
		disable_calls(cupti, calls);
	return *call == 0;
}

bool cupti_enable_calls(struct cupti *cupti)
{
	int type;

	if (cupti->get_thread_type(&type) != CUPTI_OK || type != CUPTI_THREADS_BY_PTHREAD)
		return false;
	return cupti->tells_calls = enable_calls(cupti, copy_calls);
}

bool cupti_enable_launches(struct cupti *cupti)
{
	return cupti->tells_launches = enable_calls(cupti, launch_calls);
}

void cupti_disable_launches(struct cupti *cupti)
{
	if (cupti->tells_launches)
		disable_calls(cupti, launch_calls);
	cupti->tells_launches = false;
}

void cupti_disable(struct cupti *cupti)
{
	cupti_disable_launches(cupti);
	if (cupti->tells_calls)
		disable_calls(cupti, copy_calls);
	cupti->tells_calls = false;
	while (cupti->enabled > 0) {
		int result = cupti->disable(kinds[--cupti->enabled].kind);

		if (result != CUPTI_OK)
			hp_debug("cuptiActivityDisable of %s: %d", kinds[cupti->enabled].name,
				 result);
	}
}
