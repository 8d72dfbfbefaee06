/* dep.c - a library that only the library that needs it can find. */
#pragma GCC visibility push(default)
int dep_answer(void);
int cuDepAnswer(void);
#pragma GCC visibility pop

int dep_answer(void)
{
	return 42;
}

int cuDepAnswer(void)
{
	return 43;
}
