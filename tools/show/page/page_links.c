/*
 * page_links.c - finds what a link leads to.
 */
#include "show/page/page_links.h"
#include "names/source.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

bool page_links_line(const struct page_links *links, const struct profile_frame *frame, char *ret,
		     size_t room)
{
	char path[PATH_MAX];

	if (frame == NULL || frame->path == NULL || strlen(frame->path) + 2 > sizeof(path))
		return false;
	strcpy(path, frame->path);
	paths_normalize(path);
	for (size_t i = 0; i < links->file_count; i++) {
		const struct source_file *file = &links->files[i];

		for (size_t j = 0; j < file->count && strcmp(path, file->path) == 0; j++)
			if (file->lines[j].number == frame->number) {
				snprintf(ret, room, "line-%zu-%lld", i, (long long)frame->number);
				return true;
			}
	}
	return false;
}

bool page_links_site(const struct page_links *links, int64_t site)
{
	return site >= 0 && (size_t)site < links->site_count && links->sites[site];
}

bool page_links_add_site(struct page_links *links, const struct profile *profile, int64_t site)
{
	if (site < 0 || page_links_site(links, site))
		return false;
	if (links->sites == NULL) {
		/* The memory of a profile grows; its data stay as they are. */
		links->sites = profile_allocate((struct profile *)profile, profile->site_count, 1);
		links->site_count = profile->site_count;
	}
	return links->sites[site] = true;
}
