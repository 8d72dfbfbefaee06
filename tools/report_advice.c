/*
 * report_advice.c - advice as text: what saves most first, and what could not be looked at.
 */
#include "report_advice.h"
#include "show.h"

#include <stdio.h>
#include <string.h>

#define ENTRIES_MOST 7
#define COLUMNS      96

/* The head, and the text in lines that begin below its first one. */
static void wrapped(const char *head, const char *text)
{
	char words[SHOW_BYTES(ADVICE_TEXT)];
	int column = printf("%s", head), from = column;

	snprintf(words, sizeof(words), "%s", show_text(text, ADVICE_TEXT));
	for (char *rest = words, *word; (word = strsep(&rest, " ")) != NULL;) {
		int length = (int)strlen(word);

		if (column > from && column + 1 + length > COLUMNS)
			column = printf("\n%*s%s", from, "", word) - 1;
		else
			column += printf("%s%s", column > from ? " " : "", word);
	}
	putchar('\n');
}

static void entry(const struct profile *profile, const struct advice *advice, size_t number)
{
	printf("  %zu  %-48s %-7s %9s %8s\n", number, advice->what,
	       advice->is_estimate ? "about" : "at most", show_time(advice->saves_ns),
	       show_share(advice->saves_ns, profile->wall_ns));
	if (advice->where[0] != '\0')
		wrapped("     at  ", advice->where);
	wrapped("     by  ", advice->how);
	if (advice->assumes[0] != '\0')
		wrapped("     if  ", advice->assumes);
}

void report_advice(const struct profile *profile, const struct advice_list *list, bool all)
{
	size_t shown = 0, worth = 0;

	for (size_t i = 0; i < list->count; i++)
		worth += all || advice_is_worth(profile, &list->items[i]);
	if (worth == 0 && !list->is_done && list->left[0] == '\0' && list->blind[0] == '\0')
		return;
	puts("\nwhat to do next (savings do not add up)");
	if (list->is_done)
		puts("  this port is done: no change is known that would save 2 %");
	for (; shown < worth && (all || shown < ENTRIES_MOST); shown++)
		entry(profile, &list->items[shown], shown + 1);
	if (worth > shown)
		printf("  and %zu more (--all)\n", worth - shown);
	if (worth == 0 && !list->is_done && !profile_used_no_device(profile))
		puts("  no change is known that would save 1 %");
	if (list->left[0] != '\0')
		wrapped("  left: ", list->left);
	if (list->blind[0] != '\0')
		wrapped("  not known: ", list->blind);
}
