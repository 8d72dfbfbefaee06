/*
 * test_terminal.c - the width of a terminal, and lines that fit it.
 */
#include "base/terminal.h"
#include "check.h"

#include <fcntl.h>
#include <pty.h>
#include <string.h>
#include <unistd.h>

TEST(width)
{
	struct winsize size = { .ws_col = 97 };
	int parent, child;

	if (!CHECK(openpty(&parent, &child, NULL, NULL, &size) == 0))
		return;
	CHECK_EQ(terminal_columns(NULL, child, 80), 97);
	CHECK_EQ(terminal_columns("", child, 80), 97);
	CHECK_EQ(terminal_columns("0", child, 80), 97);
	CHECK_EQ(terminal_columns("wide", child, 80), 97);
	CHECK_EQ(terminal_columns("72", child, 80), 72);
	CHECK_EQ(terminal_columns("20", child, 80), TERMINAL_COLUMNS_LEAST);
	CHECK_EQ(terminal_columns("99999", child, 80), TERMINAL_COLUMNS_MOST);
	CHECK_EQ(terminal_columns(NULL, -1, 80), 80);
	close(parent);
	close(child);
}

TEST(locales)
{
	CHECK(terminal_is_utf8("C.UTF-8", "C", "C"));
	CHECK(terminal_is_utf8(NULL, NULL, "de_DE.utf8@euro"));
	CHECK(terminal_is_utf8("", "en_US.UTF-8", "C"));
	CHECK(!terminal_is_utf8("C", "en_US.UTF-8", "en_US.UTF-8"));
	CHECK(!terminal_is_utf8(NULL, NULL, "de_DE.ISO-8859-1"));
	CHECK(!terminal_is_utf8(NULL, NULL, NULL));
}

TEST(lines)
{
	char text[] = "gr\xc3\xb6\xc3\x9f"
		      "e \xe2\x82\xac";

	CHECK_EQ(terminal_fit("a short one", 20), 11);
	CHECK_EQ(terminal_fit("a short one", 11), 11);
	CHECK_EQ(terminal_fit("a short one", 10), 7);
	CHECK_EQ(terminal_fit("a  short one", 8), 8);
	CHECK_EQ(terminal_fit("nowhere", 3), 3);
	CHECK_EQ(terminal_fit("  nowhere", 5), 5);
	CHECK_EQ(terminal_fit("\xc3\xa4\xc3\xb6\xc3\xbc", 2), 4);
	CHECK_EQ(terminal_width(text), 7);
	terminal_make_ascii(text);
	CHECK(strcmp(text, "gr??e ?") == 0);
}

CHECK_MAIN()
