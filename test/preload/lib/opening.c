/*
 * opening.c - a library whose constructor calls the program while dlopen() holds the loader's lock.
 */
void while_opening(void) __attribute__((weak));

__attribute__((constructor)) static void call(void)
{
	if (while_opening != 0)
		while_opening();
}
