/*
 * parse.c - text to values.
 *
 * libc's strtoull() and its relatives accept locale-dependent forms, signs and leading blanks, and
 * a library built today would need newer symbols of them than an older libc has.  So this file does
 * not use them.
 */
#include "base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool hp_parse_digits(const char *text, uint64_t *ret, const char **ret_end)
{
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return false;
	}
	*ret_end = at;
	*ret = value;
	return at != text;
}

int hp_parse_bool(const char *text, const char *accepts, void *ret)
{
	(void)accepts;
	if ((text[0] != '0' && text[0] != '1') || text[1] != '\0')
		return -EINVAL;
	*(hp_bool_t *)ret = text[0] == '1';
	return 0;
}

int hp_parse_word(const char *text, const char *accepts, void *ret)
{
	size_t length = strlen(text);
	const char *word = accepts;

	for (hp_word_t index = 0;; index++) {
		size_t room = strcspn(word, "|");

		if (room == length && memcmp(word, text, length) == 0) {
			*(hp_word_t *)ret = index;
			return 0;
		}
		if (word[room] == '\0')
			return -EINVAL;
		word += room + 1;
	}
}

static unsigned unit_shift(const char **at)
{
	static const char units[] = "kKmMgGtT";
	const char *unit = **at != '\0' ? strchr(units, **at) : NULL;

	if (unit == NULL)
		return 0;
	*at += 1;
	/* 64MB and 64MiB are 64M. */
	if (strcmp(*at, "B") == 0 || strcmp(*at, "iB") == 0)
		*at += strlen(*at);
	return 10 * (unsigned)((unit - units) / 2 + 1);
}

/* "a number up to 256": the column holds the bound. */
static uint64_t number_most(const char *accepts)
{
	static const char bound[] = "up to ";
	const char *at = strstr(accepts, bound), *end;
	uint64_t most;

	return at != NULL && hp_parse_digits(at + strlen(bound), &most, &end) ? most : INT64_MAX;
}

static int parse_number(const char *text, const char *accepts, bool has_unit, uint64_t *ret)
{
	const char *end;
	uint64_t value;

	if (strcmp(text, "auto") == 0 && strstr(accepts, "auto") != NULL) {
		*ret = HP_AUTO;
		return 0;
	}
	if (!hp_parse_digits(text, &value, &end))
		return -EINVAL;

	unsigned shift = has_unit ? unit_shift(&end) : 0;
	if (*end != '\0' || value > number_most(accepts) >> shift)
		return -EINVAL;
	*ret = value << shift;
	return 0;
}

int hp_parse_size(const char *text, const char *accepts, void *ret)
{
	return parse_number(text, accepts, true, ret);
}

int hp_parse_count(const char *text, const char *accepts, void *ret)
{
	return parse_number(text, accepts, false, ret);
}

bool hp_parse_short(const char *text, hp_count_t *ret)
{
	return text != NULL && strlen(text) < 10 && hp_parse_count(text, "", ret) == 0;
}

int hp_parse_text(const char *text, const char *accepts, void *ret)
{
	size_t length = strlen(text);

	(void)accepts;
	if (length >= HP_TEXT_MAX)
		return -ENAMETOOLONG;
	memcpy(ret, text, length + 1);
	return 0;
}

int hp_parse_capture(const char *text, const char *accepts, void *ret)
{
	size_t prefix = strlen(HP_CAPTURE_NVTX);

	if (strcmp(text, HP_CAPTURE_ALL) == 0)
		return hp_parse_text("", accepts, ret);
	if (strcmp(text, HP_CAPTURE_PROFILER) == 0 ||
	    (strncmp(text, HP_CAPTURE_NVTX, prefix) == 0 && text[prefix] != '\0'))
		return hp_parse_text(text, accepts, ret);
	return -EINVAL;
}

int hp_path_expand(const char *pattern, const struct hp_path_facts *facts, char *ret, size_t room)
{
	static const char any[] = "*";
	char pid[24];
	bool for_glob = facts->pid == HP_PATH_ANY;
	size_t used = 0;

	snprintf(pid, sizeof(pid), "%ld", facts->pid);
	for (const char *at = pattern; *at != '\0'; at++) {
		char plain[2] = { *at, '\0' };
		const char *piece = plain;
		bool replaced = *at == '%';

		if (replaced && at[1] == 'p')
			piece = for_glob ? any : pid;
		else if (replaced && at[1] == 'h')
			piece = facts->host;
		else if (replaced && at[1] == 't')
			piece = for_glob ? any : facts->time;
		else if (replaced && at[1] == 'r')
			piece = facts->rank;
		else if (replaced && at[1] == '%')
			piece = "%";
		else
			replaced = false;
		at += replaced;
		piece = piece != NULL ? piece : any;

		for (size_t i = 0; piece[i] != '\0'; i++) {
			bool escaped =
				for_glob && piece != any && strchr("*?[\\", piece[i]) != NULL;

			if (used + escaped + 1 >= room)
				return -ENAMETOOLONG;
			if (escaped)
				ret[used++] = '\\';
			ret[used++] = replaced && piece[i] == '/' ? '_' : piece[i];
		}
	}
	if (used >= room)
		return -ENAMETOOLONG;
	ret[used] = '\0';
	return 0;
}
