/*
 * doctor_driver.c - checks the CUDA driver and CUPTI, which are located at run time as CUDA
 * programs do.
 *
 * These checks run in a child process because a broken driver installation crashes or hangs in
 * cuInit().
 */
#include "cmd/doctor.h"
#include "base/cupti_find.h"

#define __CUDA_API_VERSION_INTERNAL /* names as in driver.def */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIND(handle, name) ((__typeof__(name) *)dlsym(handle, #name))

static const char *path_of(void *symbol)
{
	Dl_info info;

	return dladdr(symbol, &info) != 0 && info.dli_fname != NULL ? info.dli_fname : "?";
}

/* Writes the version that the kernel module states, like "580.159.04"; "" if there is none. */
static void module_version(char *ret, size_t room)
{
	char line[256] = "";

	ret[0] = '\0';
	doctor_read("/proc/driver/nvidia/version", line, sizeof(line));
	line[strcspn(line, "\n")] = '\0';
	for (char *word = strtok(line, " \t"); word != NULL; word = strtok(NULL, " \t"))
		if (word[strspn(word, "0123456789.")] == '\0' && strchr(word, '.') != NULL)
			snprintf(ret, room, "%s", word);
}

static const char *advice(CUresult result)
{
	switch ((int)result) {
	case 34:
		return "this is the toolkit's stub, not the driver; remove its directory from "
		       "LD_LIBRARY_PATH";
	case CUDA_ERROR_NO_DEVICE:
		return getenv("CUDA_VISIBLE_DEVICES") != NULL
			       ? "no device; check CUDA_VISIBLE_DEVICES, which is set"
			       : "no device; start a container with --gpus";
	case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
		return "the library and the kernel module have different versions; reboot, or "
		       "reload the module";
	case CUDA_ERROR_SYSTEM_NOT_READY:
		return "the system is not ready; check that nvidia-fabricmanager runs";
	default:
		return "no CUDA program can run; nvidia-smi may say why";
	}
}

static void look_at_device(void *driver, int ordinal)
{
	CUdevice device;
	char name[128] = "?";
	int reads_host = 0, host_tables = 0, registers = 1;
	__typeof__(cuDeviceGetAttribute) *attribute = FIND(driver, cuDeviceGetAttribute);
	__typeof__(cuDeviceGetName) *get_name = FIND(driver, cuDeviceGetName);
	__typeof__(cuDeviceGet) *get = FIND(driver, cuDeviceGet);

	if (attribute == NULL || get_name == NULL || get == NULL ||
	    get(&device, ordinal) != CUDA_SUCCESS) {
		doctor_find(LIMITS, "device",
			    "%d cannot be queried, so what works on it is unknown", ordinal);
		return;
	}
	get_name(name, sizeof(name), device);
	attribute(&reads_host, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device);
	attribute(&host_tables, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
		  device);
	attribute(&registers, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, device);
	if (!registers)
		doctor_find(LIMITS, "device",
			    "%d %s: cannot pin existing memory, so no buffer is pinned", ordinal,
			    name);
	else if (host_tables)
		doctor_find(LIMITS, "device",
			    "%d %s: reads the host's page tables itself, so no buffer is pinned",
			    ordinal, name);
	else
		doctor_find(WORKS, "device", "%d %s%s", ordinal, name, reads_host ? " (HMM)" : "");
	/* The name of a MIG device ends with its profile: "NVIDIA A100-SXM4-40GB MIG 1g.5gb". */
	if (strstr(name, " MIG ") != NULL)
		doctor_find(LIMITS, "device",
			    "%d is a MIG slice, which shares the link with other slices; CUPTI may "
			    "refuse, and profiles then have no device times",
			    ordinal);
}

/* Returns the first function that hotpin requires and the driver lacks; NULL if there is none. */
static const char *lacking(void *driver)
{
#define ROLE_(name)
#define ROLE_OPTIONAL(name)
#define ROLE_KERNEL(name)
#define ROLE_GRAPH(name)
#define ROLE_REQUIRED(name)              #name,
#define DRIVER(name, class, stream, ...) ROLE_##__VA_ARGS__(name)
#define WRAPPED                          DRIVER
	static const char *const required[] = {
#include "real/driver.def"
	};

	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		if (dlsym(driver, required[i]) == NULL)
			return required[i];
	return NULL;
}

void doctor_driver(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int version = 0, devices = 0;
	char module[64];

	if (driver == NULL) {
		doctor_find(
			FAILS, "driver",
			"none found (%s); install the NVIDIA driver, or start the container with "
			"--gpus",
			dlerror());
		return;
	}

	__typeof__(cuInit) *init = FIND(driver, cuInit);
	__typeof__(cuDriverGetVersion) *get_version = FIND(driver, cuDriverGetVersion);
	__typeof__(cuDeviceGetCount) *count = FIND(driver, cuDeviceGetCount);
	if (init == NULL || get_version == NULL || count == NULL) {
		doctor_find(FAILS, "driver",
			    "libcuda.so.1 is not a CUDA driver; check LD_LIBRARY_PATH");
		return;
	}
	get_version(&version);
	module_version(module, sizeof(module));

	CUresult result = init(0);
	if (result != CUDA_SUCCESS) {
		doctor_find(FAILS, "driver", "%s: cuInit returns %d: %s", path_of((void *)init),
			    (int)result, advice(result));
		return;
	}
	doctor_find(WORKS, "driver", "%s, CUDA %d.%d%s%s%s", path_of((void *)init), version / 1000,
		    version % 1000 / 10, module[0] != '\0' ? ", module " : "", module,
		    dlsym(driver, "standin_step") != NULL ? " (stand-in device: times are modeled)"
							  : "");
	if (version < 11030)
		doctor_find(
			LIMITS, "driver",
			"older than CUDA 11.3, so it lacks functions that hotpin uses and fewer "
			"copies are sped up; install a newer driver");
	if (lacking(driver) != NULL)
		doctor_find(FAILS, "driver",
			    "lacks %s, so hotpin passes every call through; install a newer driver",
			    lacking(driver));
	if (count(&devices) != CUDA_SUCCESS || devices == 0)
		doctor_find(FAILS, "device",
			    "none, so no CUDA program can run; start a container with --gpus, and "
			    "check CUDA_VISIBLE_DEVICES");
	for (int i = 0; i < devices; i++)
		look_at_device(driver, i);
}

/* Returns 0 if unknown.  The driver answers this before cuInit(), and without a device. */
static int driver_version(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	int version = 0;

	if (driver == NULL)
		return 0;
	__typeof__(cuDriverGetVersion) *get_version = FIND(driver, cuDriverGetVersion);
	if (get_version != NULL)
		get_version(&version);
	return version;
}

void doctor_cupti(void)
{
	char why[256];
	void *cupti = hp_cupti_find(driver_version(), why, sizeof(why));
	uint32_t version = 0;

	if (cupti == NULL) {
		doctor_find(
			LIMITS, "cupti",
			"%s, so profiles have no device times, only host time in calls; install "
			"the CUDA Toolkit, which has it",
			why);
		return;
	}

	int (*get_version)(uint32_t *) = (int (*)(uint32_t *))dlsym(cupti, "cuptiGetVersion");
	if (get_version == NULL || get_version(&version) != 0) {
		doctor_find(
			LIMITS, "cupti",
			"found, but does not work, so profiles have no device times; use the CUPTI "
			"of the driver's CUDA version");
		return;
	}
	doctor_find(WORKS, "cupti", "version %u, %s", version, path_of((void *)get_version));
	if (doctor_field("/proc/driver/nvidia/params", "RmProfilingAdminOnly") == 1)
		doctor_find(
			LIMITS, "cupti",
			"NVreg_RestrictProfilingToAdminUsers=1, so CUPTI may refuse and profiles "
			"then have no device times; set that option of the nvidia module "
			"to 0, or start a container with --cap-add SYS_ADMIN");
}
