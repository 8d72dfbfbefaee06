/*
 * test_names_lines.c - reads what addr2line prints: lines, and the functions that were inlined.
 */
#include "check.h"
#include "hotpin.h"
#include "names_lines.h"

#include <stdio.h>
#include <string.h>

/* Called by code that reads profiles; nothing is read here. */
void hotpin_say(const char *format, ...)
{
	(void)format;
}

#define USER   "/src/heat.cu"
#define SYSTEM "/usr/include/c++/12/bits/stl_vector.h"

static const struct row {
	const char *symbol, *answer; /* the answer for one address */
	const char *shown;           /* "inlined@line < .. < function@line" */
} rows[] = {
	{ "main", "main\n" USER ":5\n", "main@heat.cu:5" },
	{ "main", "??\n??:0\n", "main@-" },
	{ "main", "??\n??:?\n", "main@-" },
	{ NULL, "??\n??:0\n", "-@-" },
	{ "_Z4stepv", "step\n" USER ":5 (discriminator 3)\n", "_Z4stepv@heat.cu:5" },
	{ "main", "weigh\n" USER ":1\nstep\n" USER ":2\nmain\n" USER ":3\n",
	  "weigh@heat.cu:1 < step@heat.cu:2 < main@heat.cu:3" },
	/* A library's header counts for the line that it was inlined into. */
	{ "main", "at\n" SYSTEM ":9\nstep\n" USER ":2\nbegin\n" SYSTEM ":8\nmain\n" USER ":3\n",
	  "step@heat.cu:2 < main@heat.cu:3" },
	{ "sort", "less\n" USER ":2\nsort\n" SYSTEM ":8\n",
	  "less@heat.cu:2 < sort@stl_vector.h:8" },
	{ "main", "at\n" SYSTEM ":9\nmain\n" USER ":3\n", "main@heat.cu:3" },
	/* Without a name, and with that of the symbol, code belongs to the function around it. */
	{ "main", "??\n" USER ":1\nstep\n" USER ":2\nmain\n" USER ":3\n",
	  "step@heat.cu:1 < main@heat.cu:3" },
	{ "main", "main\n" USER ":1\nmain\n" USER ":3\n", "main@heat.cu:1" },
	{ "main", "main\n" USER ":1\nstep\n" USER ":2\nrun\n" USER ":3\nmain\n" USER ":4\n",
	  "step@heat.cu:1 < run@heat.cu:3 < main@heat.cu:4" },
	{ "main.cold", "main.cold\n" USER ":1\nstep\n" USER ":2\nmain\n" USER ":3\n",
	  "step@heat.cu:1 < main.cold@heat.cu:3" },
	{ "main", "main\n" USER ":1\nat\n" SYSTEM ":9\nmain\n" USER ":3\n", "main@heat.cu:1" },
	{ "main", "step\n??:0\nmain\n" USER ":3\n", "main@heat.cu:3" },
	/* The symbol table of a stripped file lacks the name. */
	{ NULL, "step\n" USER ":2\n", "step@heat.cu:2" },
	{ NULL, "step\n??:0\n", "-@-" },
	{ "main", "step\n" USER ":0\nmain\n" USER ":4294967296\n", "main@-" },
	{ "main", "step\n", "main@-" },
	{ "main", "", "main@-" },
};

static const char *or_none(const char *text)
{
	return text != NULL ? text : "-";
}

static void print_frame(FILE *to, const struct profile_frame *frame)
{
	fprintf(to, "%s@%s", or_none(frame->function), or_none(frame->line));
}

/* Prints the frame with the functions that are inlined there. */
static const char *print_chain(const struct profile_frame *frame, char *ret, size_t room)
{
	FILE *to = fmemopen(ret, room, "w");

	for (size_t i = 0; frame->inlined != NULL && i < frame->inlined->count; i++) {
		print_frame(to, &frame->inlined->items[i]);
		fputs(" < ", to);
	}
	print_frame(to, frame);
	fclose(to);
	return ret;
}

static void read_answers(struct profile *owner, const char *text,
			 struct profile_frame *const *frames, size_t count)
{
	FILE *answers = fmemopen((void *)text, strlen(text), "r");

	names_lines_read(owner, answers, frames, count);
	fclose(answers);
}

TEST(one_address)
{
	char text[1024], seen[1024];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct profile owner = { .path = "" };
		struct profile_frame frame = { .function = rows[i].symbol }, *frames = &frame;

		snprintf(text, sizeof(text), "0x0000000000001000\n%s", rows[i].answer);
		read_answers(&owner, text, &frames, 1);
		print_chain(&frame, seen, sizeof(seen));
		if (strcmp(seen, rows[i].shown) != 0)
			printf("# %s, not %s\n", seen, rows[i].shown);
		CHECK(strcmp(seen, rows[i].shown) == 0);
		profile_close(&owner);
	}
}

TEST(the_last_answer_stays)
{
	struct profile owner = { .path = "" };
	struct profile_frame first = { .function = "main" }, second = { .function = "run" };
	struct profile_frame *frames[] = { &first, &second };
	char seen[1024];

	read_answers(&owner,
		     "0x10\nmain\n" USER ":1\nmain\n" USER ":2\n"
		     "0x10\nstep\n" USER ":1\nmain\n" USER ":2\n"
		     "0x20\nrun\n" USER ":3\n"
		     "0x20\nrun\n" USER ":3\n"
		     "0x30\nmore\n" USER ":4\n",
		     frames, 2);
	CHECK(strcmp(print_chain(&first, seen, sizeof(seen)), "step@heat.cu:1 < main@heat.cu:2") ==
	      0);
	CHECK(strcmp(print_chain(&second, seen, sizeof(seen)), "run@heat.cu:3") == 0);
	profile_close(&owner);
}

/* A file may have names of any length, and any depth of inlined functions. */
TEST(limits)
{
	static char text[PROFILE_FRAMES_MOST * 400 + 20000];
	struct profile owner = { .path = "" };
	struct profile_frame frame = { .function = "main" }, *frames = &frame;
	size_t length = (size_t)sprintf(text, "0x10\n");

	memset(text + length, 'x', 10000);
	length += 10000;
	length += (size_t)sprintf(text + length, "\n" USER ":1\n");
	for (int i = 0; i < 2 * PROFILE_FRAMES_MOST; i++)
		length += (size_t)sprintf(text + length, "f%d\n" USER ":%d\n", i, i + 2);
	sprintf(text + length, "main\n" USER ":99\n");
	read_answers(&owner, text, &frames, 1);
	CHECK_EQ(frame.inlined->count, PROFILE_FRAMES_MOST);
	CHECK(strcmp(frame.inlined->items[0].function, "f0") == 0);
	CHECK_EQ(frame.inlined->items[0].number, 1);
	CHECK_EQ(frame.number, 99);
	profile_close(&owner);
}

/* A broken addr2line may print names without end. */
TEST(endless_answers)
{
	static char text[200000];
	struct profile owner = { .path = "" };
	struct profile_frame frame = { .function = "main" }, *frames = &frame;
	size_t length = (size_t)sprintf(text, "0x10\n");

	for (int i = 1; i <= 5000; i++)
		length += (size_t)sprintf(text + length, "f%d\n" USER ":%d\n", i, i);
	read_answers(&owner, text, &frames, 1);
	CHECK_EQ(frame.number, 1000);
	profile_close(&owner);
}

CHECK_MAIN()
