/*
 * thread.c - threads of our own, with which the program has nothing to do.
 */
#include "shim/thread.h"

#include <pthread.h>
#include <signal.h>

int shim_thread_start(void *(*body)(void *))
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 10);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int error = pthread_create(&thread, &attributes, body, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}
