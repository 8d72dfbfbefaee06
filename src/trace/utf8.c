/* utf8.c - a code point in one to four bytes. */
#include "trace/utf8.h"

size_t utf8_put(uint32_t letter, char *ret)
{
	if ((letter >= 0xd800 && letter < 0xe000) || letter > 0x10ffff)
		letter = 0xfffd;
	size_t bytes = letter < 0x80 ? 1 : letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;

	/* The first byte of several has a 1 for each byte at its top, the others the bits 10. */
	for (size_t i = bytes - 1; i > 0; i--, letter >>= 6)
		ret[i] = (char)(0x80 | (letter & 0x3f));
	ret[0] = (char)(bytes == 1 ? letter : 0xff00 >> bytes | letter);
	return bytes;
}
