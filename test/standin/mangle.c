/*
 * mangle.c - derives the sizes of a kernel's parameters from its mangled name.
 *
 * A real driver reads them from the image.  The Itanium C++ ABI (section 5.1, mangling) puts every
 * parameter type in the name, which is enough for builtin types and pointers.  For types passed by
 * value (dim3, structs) the test must state the size.
 */
#include "engine.h"

#include <string.h>

#define SUBS 64
#define NONE 0u

struct parser {
	const char *at;
	bool bad;
	int subs, args;
	unsigned sub[SUBS],
		arg[SUBS]; /* sizes of the types that S_ and T_ refer to; NONE if unknown */
};

static unsigned type(struct parser *p);

static unsigned remember(struct parser *p, unsigned size)
{
	if (p->subs < SUBS)
		p->sub[p->subs++] = size;
	return size;
}

/* S_ is 0, S0_ is 1, and so on in base 36; the letter has been read. */
static int sequence(struct parser *p)
{
	int n = 0;

	if (*p->at == '_') {
		p->at++;
		return 0;
	}
	for (; (*p->at >= '0' && *p->at <= '9') || (*p->at >= 'A' && *p->at <= 'Z'); p->at++)
		n = n * 36 + (*p->at <= '9' ? *p->at - '0' : *p->at - 'A' + 10);
	if (*p->at++ != '_')
		p->bad = true;
	return n + 1;
}

static void source_name(struct parser *p)
{
	size_t n = 0;

	while (*p->at >= '0' && *p->at <= '9')
		n = n * 10 + (size_t)(*p->at++ - '0');
	if (n == 0 || n > strlen(p->at))
		p->bad = true;
	else
		p->at += n;
}

/* Parses template arguments; T_ refers to those of the function itself. */
static void arguments(struct parser *p, bool own)
{
	p->at++;
	while (*p->at != 'E' && *p->at != '\0' && !p->bad) {
		unsigned size = NONE;

		if (*p->at == 'L') {
			p->at++;
			type(p);
			while (*p->at != 'E' && *p->at != '\0')
				p->at++;
			p->at += *p->at == 'E';
		} else if (*p->at == 'J') {
			p->bad = true;
		} else {
			size = type(p);
		}
		if (own && p->args < SUBS)
			p->arg[p->args++] = size;
	}
	p->at += *p->at == 'E';
}

static unsigned builtin(char c)
{
	static const char codes[] = "bahcstijlmxyfdwoneg";
	static const unsigned char sizes[] = { 1, 1, 1, 1, 2, 2,  4,  4,  8, 8,
					       8, 8, 4, 8, 4, 16, 16, 16, 16 };
	const char *found = c != '\0' ? strchr(codes, c) : NULL;

	return found != NULL ? sizes[found - codes] : NONE;
}

static void nested(struct parser *p, bool own)
{
	p->at++;
	while (*p->at == 'r' || *p->at == 'V' || *p->at == 'K')
		p->at++;
	while (*p->at != 'E' && *p->at != '\0' && !p->bad) {
		if (*p->at == 'I') {
			arguments(p, own);
		} else if (*p->at == 'S') {
			p->at++;
			if (*p->at == 't')
				p->at++;
			else
				sequence(p);
			continue;
		} else if (*p->at == 'L') {
			p->at++;
			continue;
		} else {
			source_name(p);
		}
		if (*p->at != 'E' || !own)
			remember(p, NONE);
	}
	p->at += *p->at == 'E';
}

static unsigned substitution(struct parser *p)
{
	unsigned size = NONE;
	int i;

	p->at++;
	if (*p->at >= 'a' && *p->at <= 'z') { /* St, Ss and friends: classes of std */
		bool whole = *p->at++ != 't';

		if (!whole) {
			source_name(p);
			remember(p, NONE);
		}
	} else {
		i = sequence(p);
		size = i < p->subs ? p->sub[i] : NONE;
		p->bad = p->bad || i >= p->subs;
	}
	if (*p->at == 'I') {
		arguments(p, false);
		size = remember(p, NONE);
	}
	return size;
}

static unsigned type(struct parser *p)
{
	unsigned size;
	int i;

	switch (*p->at) {
	case 'P':
	case 'R':
	case 'O':
		p->at++;
		type(p);
		return remember(p, 8);
	case 'r':
	case 'V':
	case 'K':
		while (*p->at == 'r' || *p->at == 'V' || *p->at == 'K')
			p->at++;
		size = type(p);
		return remember(p, size);
	case 'S':
		return substitution(p);
	case 'T':
		p->at++;
		i = sequence(p);
		if (i >= p->args)
			p->bad = true;
		return remember(p, i < p->args ? p->arg[i] : NONE);
	case 'N':
		nested(p, false);
		return NONE;
	case 'v':
		p->at++;
		return NONE;
	}
	if (*p->at >= '0' && *p->at <= '9') {
		source_name(p);
		remember(p, NONE);
		if (*p->at == 'I') {
			arguments(p, false);
			remember(p, NONE);
		}
		return NONE;
	}
	size = builtin(*p->at);
	p->bad = p->bad || size == NONE;
	p->at++;
	return size;
}

int mangle_args(const char *mangled, unsigned *sizes, int max)
{
	struct parser p = { .at = mangled + 2 };
	int n = 0;

	if (strncmp(mangled, "_Z", 2) != 0)
		return -1;
	if (*p.at == 'L')
		p.at++;
	if (*p.at == 'N')
		nested(&p, true);
	else
		source_name(&p);
	if (*p.at == 'I') {
		remember(&p, NONE);
		arguments(&p, true);
	}
	if (p.args > 0)
		type(&p); /* a template's name carries its return type */
	if (strcmp(p.at, "v") == 0)
		return 0;
	while (*p.at != '\0' && !p.bad && n < max) {
		sizes[n] = type(&p);
		if (sizes[n++] == NONE)
			p.bad = true;
	}
	return p.bad ? -1 : n;
}
