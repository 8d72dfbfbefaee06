/* dep.c - what only a library that needs this one can find. */
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
