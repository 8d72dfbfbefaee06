/* utf8.c - a code point in one to four bytes. */
#include "trace/utf8.h"

size_t utf8_put(uint32_t letter, char *ret)
{
	if (letter < 0x80) {
		ret[0] = (char)letter;
		return 1;
	}
	if (letter < 0x800) {
		ret[0] = (char)(0xc0 | letter >> 6);
		ret[1] = (char)(0x80 | (letter & 0x3f));
		return 2;
	}
	if ((letter >= 0xd800 && letter < 0xe000) || letter > 0x10ffff)
		letter = 0xfffd;
	if (letter < 0x10000) {
		ret[0] = (char)(0xe0 | letter >> 12);
		ret[1] = (char)(0x80 | (letter >> 6 & 0x3f));
		ret[2] = (char)(0x80 | (letter & 0x3f));
		return 3;
	}
	ret[0] = (char)(0xf0 | letter >> 18);
	ret[1] = (char)(0x80 | (letter >> 12 & 0x3f));
	ret[2] = (char)(0x80 | (letter >> 6 & 0x3f));
	ret[3] = (char)(0x80 | (letter & 0x3f));
	return 4;
}
