/*
 * units.c - integers to text.
 */
#include "base/units.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* value / unit, rounded to `per_unit`ths. */
static uint64_t rounded(uint64_t value, uint64_t unit, unsigned per_unit)
{
	return (uint64_t)(((__uint128_t)value * per_unit + unit / 2) / unit);
}

/* value / unit with three digits. */
static const char *three_digits(char *buffer, uint64_t value, uint64_t unit, const char *name)
{
	unsigned long long ones = rounded(value, unit, 1), tenths = rounded(value, unit, 10),
			   hundredths = rounded(value, unit, 100);
	const char *gap = name[0] != '\0' ? " " : "";

	if (hundredths < 1000)
		snprintf(buffer, UNITS_ROOM, "%llu.%02llu%s%s", hundredths / 100, hundredths % 100,
			 gap, name);
	else if (tenths < 1000)
		snprintf(buffer, UNITS_ROOM, "%llu.%llu%s%s", tenths / 10, tenths % 10, gap, name);
	else
		snprintf(buffer, UNITS_ROOM, "%llu%s%s", ones, gap, name);
	return buffer;
}

struct unit {
	uint64_t size;
	const char *name;
};

static const char *scaled(char *buffer, uint64_t value, const struct unit *units, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		/* 999 600 ns is 1.00 ms, not 1000 us. */
		if (value >= units[i].size - units[i].size / 2000 && units[i].size > 1)
			return three_digits(buffer, value, units[i].size, units[i].name);
	}
	snprintf(buffer, UNITS_ROOM, "%llu %s", (unsigned long long)value, units[count - 1].name);
	return buffer;
}

const char *units_time(char *buffer, uint64_t ns)
{
	static const struct unit units[] = {
		{ 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" }, { 1, "ns" }
	};

	return scaled(buffer, ns, units, 4);
}

const char *units_bytes(char *buffer, uint64_t bytes)
{
	static const struct unit units[] = {
		{ 1000000000000, "TB" }, { 1000000000, "GB" }, { 1000000, "MB" },
		{ 1000, "kB" },          { 1, "B" },
	};

	return scaled(buffer, bytes, units, 5);
}

const char *units_rate(char *buffer, uint64_t bytes, uint64_t ns)
{
	if (bytes == 0 || ns == 0)
		return "n/a";
	return three_digits(buffer, bytes, ns, "");
}

const char *units_count(char *buffer, uint64_t count)
{
	char digits[UNITS_ROOM];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
	size_t used = 0;

	for (size_t i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			buffer[used++] = ' ';
		buffer[used++] = digits[i];
	}
	buffer[used] = '\0';
	return buffer;
}

const char *units_tenths(char *buffer, unsigned tenths)
{
	snprintf(buffer, UNITS_ROOM, "%u.%u %%", tenths / 10, tenths % 10);
	return buffer;
}

void units_split_tenths(const uint64_t *parts, size_t count, unsigned *ret_tenths)
{
	__uint128_t whole = 0; /* the parts may come from a file */
	unsigned given = 0;

	for (size_t i = 0; i < count; i++)
		whole += parts[i];
	for (size_t i = 0; i < count; i++) {
		ret_tenths[i] = whole == 0 ? 0 : (unsigned)((__uint128_t)parts[i] * 1000 / whole);
		given += ret_tenths[i];
	}
	/*
	 * At most count - 1 tenths are missing.  The part that rounding reduced most gets a tenth
	 * first.
	 */
	for (uint64_t taken = 0; whole != 0 && given < 1000; given++) {
		size_t best = count;
		__uint128_t most = 0;

		for (size_t i = 0; i < count; i++) {
			__uint128_t rest = (__uint128_t)parts[i] * 1000 % whole;

			if (!(taken >> i & 1) && (best == count || rest > most)) {
				best = i;
				most = rest;
			}
		}
		taken |= (uint64_t)1 << best;
		ret_tenths[best]++;
	}
}

const char *units_share(char *buffer, uint64_t part, uint64_t whole)
{
	if (whole == 0)
		return "n/a";
	return units_tenths(buffer, (unsigned)(((__uint128_t)part * 1000 + whole / 2) / whole));
}

/* The number of bytes that a UTF-8 character of several bytes has; 0: `first` begins none. */
static size_t bytes_of_letter(unsigned char first)
{
	if (first < 0xc2 || first >= 0xf5)
		return 0;
	return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* True for overlong forms, surrogates and values beyond Unicode. */
static bool is_malformed(uint32_t letter, size_t bytes)
{
	return (bytes == 3 && letter < 0x800) || (bytes == 4 && letter < 0x10000) ||
	       (letter >= 0xd800 && letter < 0xe000) || letter > 0x10ffff;
}

/* True for C1 controls and direction marks. */
static bool is_control(uint32_t letter)
{
	return letter < 0xa0 || letter == 0x61c || (letter >= 0x200e && letter <= 0x200f) ||
	       (letter >= 0x2028 && letter <= 0x202e) || (letter >= 0x2066 && letter <= 0x2069);
}

size_t units_printable(const char *text, size_t length)
{
	const unsigned char *at = (const unsigned char *)text;

	if (length == 0 || at[0] < 0x20 || at[0] == 0x7f)
		return 0;
	if (at[0] < 0x80)
		return 1;
	size_t bytes = bytes_of_letter(at[0]);
	if (bytes == 0 || bytes > length)
		return 0;
	uint32_t letter = at[0] & (0x7fu >> bytes);
	for (size_t i = 1; i < bytes; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		letter = letter << 6 | (at[i] & 0x3f);
	}
	return is_malformed(letter, bytes) || is_control(letter) ? 0 : bytes;
}

const char *units_escape(char *buffer, size_t room, const char *text, size_t columns)
{
	size_t length = strlen(text), used = 0, shown = 0, cut = 0;

	for (size_t at = 0; at < length;) {
		size_t bytes = units_printable(text + at, length - at);
		size_t wide = bytes > 0 ? 1 : 4, need = bytes > 0 ? bytes : 4;

		/* The last position where ".." fits. */
		if (shown + 2 <= columns)
			cut = used;
		if (shown + wide > columns || used + need + 3 > room) {
			snprintf(buffer + cut, room - cut, "..");
			return buffer;
		}
		if (bytes > 0)
			memcpy(buffer + used, text + at, bytes);
		else
			snprintf(buffer + used, room - used, "\\x%02x", (unsigned char)text[at]);
		used += need;
		shown += wide;
		at += bytes > 0 ? bytes : 1;
	}
	buffer[used] = '\0';
	return buffer;
}

void units_clean(char *text)
{
	for (size_t left = strlen(text), bytes; left > 0; text += bytes, left -= bytes) {
		bytes = units_printable(text, left);
		if (bytes == 0) {
			*text = '?';
			bytes = 1;
		}
	}
}
