/* opens_deep.c - opens such a plug-in before others have begun. */
#include <dlfcn.h>

__attribute__((constructor)) static void on_load(void)
{
	dlopen("libdeep.so", RTLD_NOW | RTLD_DEEPBIND);
}
