/* plug.c - a plug-in that only its user's RUNPATH leads to. */
__attribute__((visibility("default"))) int plug_answer(void);

int plug_answer(void)
{
	return 44;
}
