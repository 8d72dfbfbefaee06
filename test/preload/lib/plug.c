/* plug.c - a plug-in that is found only by the RUNPATH of the library that opens it. */
__attribute__((visibility("default"))) int plug_answer(void);

int plug_answer(void)
{
	return 44;
}
