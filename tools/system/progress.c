/*
 * progress.c - shows progress in one line on stderr, at most ten times a second.
 */
#include "system/progress.h"
#include "base/clock.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#define PATIENCE_NS 500000000
#define PAUSE_NS    100000000

static bool shown;

void progress_show(const char *what, uint64_t done, uint64_t all)
{
	static uint64_t began_ns, next_ns;
	static int terminal = -1;
	char name[256];

	if (terminal < 0)
		terminal = isatty(STDERR_FILENO);
	if (!terminal)
		return;
	uint64_t now_ns = hp_now_ns();
	if (began_ns == 0) {
		began_ns = now_ns;
		next_ns = now_ns + PATIENCE_NS;
	}
	if (now_ns < next_ns)
		return;
	next_ns = now_ns + PAUSE_NS;
	/* A line that the terminal wraps could not be erased, so the name is short. */
	units_escape(name, sizeof(name), what, 50);
	if (all > 0)
		fprintf(stderr, "\r\033[Khotpin: %s %u %%", name,
			(unsigned)((done < all ? done : all) * 100.0 / all));
	else
		fprintf(stderr, "\r\033[Khotpin: %s", name);
	fflush(stderr);
	shown = true;
}

void progress_clear(void)
{
	if (shown)
		fputs("\r\033[K", stderr);
	shown = false;
}
