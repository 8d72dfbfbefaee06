/*
 * idle.c - a library that can be preloaded and does nothing.
 */
int hotpin_idle(void);

int hotpin_idle(void)
{
	return 0;
}
