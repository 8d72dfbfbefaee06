/* opens_deep.c - opens the plug-in deep.c before other initializers run. */
#include <dlfcn.h>

__attribute__((constructor)) static void on_load(void)
{
	dlopen("libdeep.so", RTLD_NOW | RTLD_DEEPBIND);
}
