/* user.c - makes the library that it is part of need another one. */
#pragma GCC visibility push(default)
int dep_answer(void);
int user_answer(void);
#pragma GCC visibility pop

int user_answer(void)
{
	return dep_answer();
}
