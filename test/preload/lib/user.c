/* user.c - is linked into a library so that the library needs another one. */
#pragma GCC visibility push(default)
int dep_answer(void);
int user_answer(void);
#pragma GCC visibility pop

int user_answer(void)
{
	return dep_answer();
}
