/*
 * html_next.c - advice as cards.
 *
 * A bar shows how much a change saves, on the scale of the wall time; it never shows the rest.
 */
#include "show/page/html.h"
#include "names/names.h"
#include "show/page/page.h"
#include "profile/texts.h"

#include <stdio.h>

#define CARDS_MOST 5 /* further cards are folded */

static void fact(FILE *to, const char *name, const char *text)
{
	if (text[0] == '\0')
		return;
	fprintf(to, "<dt>%s</dt><dd>", name);
	page_text(to, text_name(text, ADVICE_TEXT));
	fputs("</dd>\n", to);
}

/*
 * Finds the line of a shown source, otherwise the row of the site, otherwise the table of buffers.
 */
static bool find_target(const struct profile *profile, const struct advice *advice,
			const struct page_links *links, char *ret, size_t room)
{
	const struct profile_frame *frame = advice->frame;
	bool in_cuda;

	if (frame == NULL && advice->site >= 0)
		frame = names_source_frame(profile, &profile->sites[advice->site].frames, &in_cuda);
	if (page_links_line(links, frame, ret, room))
		return true;
	if (page_links_site(links, advice->site))
		snprintf(ret, room, "site-%lld", (long long)advice->site);
	else
		snprintf(ret, room, "buffers");
	return page_links_site(links, advice->site) ||
	       (advice->buffer >= 0 && page_has_section("buffers"));
}

static void place(FILE *to, const struct profile *profile, const struct advice *advice,
		  const struct page_links *links)
{
	char target[64];

	if (links == NULL || !find_target(profile, advice, links, target, sizeof(target))) {
		fact(to, "where", advice->where);
		return;
	}
	fprintf(to, "<dt>where</dt><dd><a href=\"#%s\">", target);
	page_text(to, text_name(advice->where, ADVICE_TEXT));
	fputs("</a></dd>\n", to);
}

static void card(FILE *to, const struct profile *profile, const struct advice *advice,
		 const struct page_links *links)
{
	fputs("<li>", to);
	page_element(to, links != NULL ? "h3" : "h4", text_name(advice->what, ADVICE_TEXT));
	fprintf(to, "<div><b>%s %s</b> (%s)%s\n", advice->is_estimate ? "about" : "at most",
		text_time(advice->saves_ns), text_share(advice->saves_ns, profile->wall_ns),
		advice->hotpin_does_it ? " <span class=\"does\">hotpin run does this</span>" : "");
	page_bar(to, "saving", advice->saves_ns, profile->wall_ns);
	fputs("</div><dl>\n", to);
	place(to, profile, advice, links);
	fact(to, "how", advice->how);
	fact(to, "if", advice->assumes);
	fputs("</dl></li>\n", to);
}

/* Writes the entries from `from` up to `end` as cards. */
static void cards(FILE *to, const struct profile *profile, const struct advice_list *advice,
		  const struct page_links *links, size_t from, size_t end)
{
	if (from == end)
		return;
	fputs("<ol class=\"cards\">\n", to);
	for (size_t i = from; i < end; i++)
		card(to, profile, &advice->items[i], links);
	fputs("</ol>\n", to);
}

static void sentence(FILE *to, const char *head, const char *text)
{
	if (text[0] == '\0')
		return;
	fprintf(to, "<p><b>%s</b> ", head);
	page_text(to, text_name(text, ADVICE_TEXT));
	fputs(".</p>\n", to);
}

static bool saves(const struct profile_bound *bound)
{
	return bound->wall_ns >= 0 && bound->saves_ns > 0;
}

/* A bar shows the saving on the scale of the wall time. */
static void bounds(FILE *to, const struct profile *profile)
{
	char text[TEXT_BYTES(150 + 24) + 128];
	bool any = false;

	for (size_t i = 0; i < profile->bound_count; i++) {
		const struct profile_bound *bound = &profile->bounds[i];

		if (!saves(bound))
			continue;
		if (!any)
			fputs("<details><summary>What if (bounds, not promises)</summary>\n", to);
		any = true;
		snprintf(text, sizeof(text), "%s: at least %s, at most %s less%s%s",
			 text_bound(bound->name), text_time(bound->wall_ns),
			 text_time(bound->saves_ns), bound->assumes != NULL ? "; if " : "",
			 bound->assumes != NULL ? text_name(bound->assumes, 150) : "");
		page_element(to, "p", text);
		page_bar(to, "saving", bound->saves_ns, profile->wall_ns);
	}
	if (any)
		fputs("</details>\n", to);
}

/* Writes the entries that are worth a card; returns their number. */
static size_t first_cards(FILE *to, const struct profile *profile, const struct advice_list *advice,
			  const struct page_links *links)
{
	size_t shown = 0;

	while (shown < advice->count && shown < CARDS_MOST &&
	       advice_is_worth(profile, &advice->items[shown]))
		shown++;
	if (advice->is_done)
		page_element(to, "p", advice_nothing(advice));
	else if (shown == 0 && profile->process.exit_status > 0)
		page_element(to, "p", "The program failed; fix it first.");
	else if (shown == 0 && profile_has_split(profile) && !profile_used_no_device(profile))
		page_element(to, "p", advice_nothing(advice));
	cards(to, profile, advice, links, 0, shown);
	return shown;
}

void html_next(FILE *to, const struct profile *profile, const struct advice_list *advice,
	       const struct page_links *links)
{
	size_t shown = first_cards(to, profile, advice, links);

	if (shown > 0)
		page_element(to, "p class=\"soft\"",
			     "Bars show the saving against the wall time. Savings do not add up.");
	if (advice->count > shown) {
		fprintf(to, "<details><summary>%zu more</summary>\n", advice->count - shown);
		cards(to, profile, advice, links, shown, advice->count);
		fputs("</details>\n", to);
	}
	sentence(to, "What is left:", advice->left);
	sentence(to, "Not known:", advice->blind);
	bounds(to, profile);
}

void html_next_folded(FILE *to, const struct profile *profile)
{
	struct advice_list advice;

	advice_make(profile, &advice);
	page_element(to, "h3", page_section_title("next"));
	first_cards(to, profile, &advice, NULL);
}
