/*
 * plain.c - a library without any function of CUPTI, under any name that a test gives it.
 */
int plain_library(void);

__attribute__((visibility("default"))) int plain_library(void)
{
	return 0;
}
