/*
 * sanitizers.c - the options of the sanitizers, which ask for them by these functions.
 */
#pragma GCC visibility push(default)
const char *__asan_default_options(void);
const char *__ubsan_default_options(void);
const char *__tsan_default_options(void);
#pragma GCC visibility pop

/* As with libc, an absurd size is refused.  Memory that the process keeps to its end is no leak. */
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1:detect_leaks=0";
}

const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:print_stacktrace=1";
}

/*
 * The child of a fork() may start threads.  A process may exit with threads, and does not sleep
 * first.
 */
const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1:halt_on_error=1:die_after_fork=0:atexit_sleep_ms=0:"
	       "report_thread_leaks=0";
}
