/*
 * folded.c - writes call chains of host samples as folded stacks, one a line, for flame graphs.
 *
 * A semicolon separates frames and the last blank precedes the count.  So a semicolon in a name
 * becomes a comma, and control characters are escaped.
 */
#include "show/folded.h"
#include "system/messages.h"
#include "analyze/host_code.h"
#include "profile/texts.h"

static const char *instead(const char *at)
{
	return *at == ';' ? "," : NULL;
}

static void write_one(FILE *to, struct profile *profile, const char *root)
{
	size_t count;
	const struct host_chain *chains = host_chains(profile, &count);

	for (size_t i = 0; i < count; i++) {
		const struct host_chain *chain = &chains[i];

		if (chain->samples == 0)
			continue;
		if (root != NULL) {
			text_put(to, root, instead);
			fputc(';', to);
		}
		for (size_t j = 0; j < chain->count; j++) {
			text_put(to, chain->names[j], instead);
			fputs(j + 1 < chain->count ? ";" : "", to);
		}
		fprintf(to, "%s %lld\n", chain->count > 0 ? "" : "[unknown]",
			(long long)chain->samples);
	}
}

bool folded_write(FILE *to, struct profile *profiles, size_t count)
{
	bool any = false;

	for (size_t i = 0; i < count; i++) {
		const char *why = profiles[i].sampling.why;

		if (profiles[i].sample_count > 0)
			write_one(to, &profiles[i], count > 1 ? profiles[i].path : NULL);
		else
			hotpin_say("%s has no samples of host code%s",
				   text_name(profiles[i].path, 200),
				   text_if(why != NULL, ": %s", text_name(why, 200)));
		any |= profiles[i].sample_count > 0;
	}
	return any;
}
