/*
 * test_next.c - libraries that forward calls by dlsym(RTLD_NEXT), loaded before and after ours.
 *
 * glibc determines the caller by its return address.  If our dlsym() called glibc's instead of
 * jumping there, we would be the caller, and each such library would find itself.
 */
#include "preload.h"

#include "lib/chain.h"

static void say(const char *expected)
{
	char said[256] = "";

	chain_say(said);
	if (!CHECK(strcmp(said, expected) == 0))
		printf("# %s\n", said);
	said[0] = '\0';
	cuChainSay(said);
	if (!CHECK(strcmp(said, expected) == 0))
		printf("# %s\n", said);
}

CASE_WITH(we_are_first, ("LD_PRELOAD=@:libfirst.so:libsecond.so"), say("first second end"))
CASE_WITH(we_are_between, ("LD_PRELOAD=libfirst.so:@:libsecond.so"), say("first second end"))
CASE_WITH(we_are_last, ("LD_PRELOAD=libfirst.so:libsecond.so:@"), say("first second end"))

/* With the driver in use, more code could intercept the names. */
TEST_WITH(with_a_driver, "LD_PRELOAD=libfirst.so:@:libsecond.so")
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	if (!CHECK(driver != NULL))
		return;
	((int (*)(unsigned))dlsym(driver, "cuInit"))(0);
	say("first second end");
}

PRELOAD_MAIN()
