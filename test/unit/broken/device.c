/*
 * device.c - a program with the section in which nvcc puts device code.
 */
__attribute__((section(".nv_fatbin"), used)) static const char device_code[16];

int main(void)
{
	return 0;
}
