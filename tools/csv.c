/*
 * csv.c - `hotpin csv`: writes one table of a profile for spreadsheets and data frames.
 *
 * Times are whole nanoseconds, sizes are bytes, and unknown figures are empty.  Texts are quoted.
 * An apostrophe precedes a text that a spreadsheet would take for a formula.  Where semicolons
 * separate cells, only the first text of a line counts as quoted, so semicolons are escaped.
 */
#include "advice.h"
#include "each.h"
#include "folded.h"
#include "hotpin.h"
#include "names.h"
#include "places.h"
#include "progress.h"
#include "show.h"
#include "target.h"
#include "base/parse.h"
#include "base/units.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void number(FILE *to, int64_t value)
{
	if (value < 0)
		fputc(',', to);
	else
		fprintf(to, ",%lld", (long long)value);
}

/* Some spreadsheets also take full-width signs for the start of a formula. */
static bool is_formula(const char *text)
{
	static const char *const starts[] = { "=",      "+",      "-",      "@",
					      "\uff1d", "\uff0b", "\uff0d", "\uff20" };

	/* A spreadsheet may drop these characters. */
	text += strspn(text, " '");
	for (size_t i = 0; i < HP_LEN(starts); i++)
		if (strncmp(text, starts[i], strlen(starts[i])) == 0)
			return true;
	return false;
}

static void quoted(FILE *to, const char *text)
{
	size_t length = strlen(text);

	fputc('"', to);
	if (is_formula(text))
		fputc('\'', to);
	for (size_t at = 0; at < length;) {
		size_t bytes = units_printable(text + at, length - at);

		if (bytes == 0 || text[at] == ';')
			fprintf(to, "\\x%02x", (unsigned char)text[at]);
		else if (text[at] == '"')
			fputs("\"\"", to);
		else
			fwrite(text + at, 1, bytes, to);
		at += bytes > 0 ? bytes : 1;
	}
	fputc('"', to);
}

static void text(FILE *to, const char *value)
{
	fputc(',', to);
	if (value != NULL)
		quoted(to, value);
}

/* Writes the first columns of every row. */
static void begin(FILE *to, const struct profile *profile)
{
	quoted(to, profile->path);
	text(to, profile->stage);
	text(to, profile->process.rank);
}

static void place(FILE *to, const struct profile *profile, const struct profile_frames *frames,
		  bool allocation)
{
	const struct profile_frame *frame = names_frame(profile, frames, allocation);

	text(to, frame != NULL ? frame->function : NULL);
	text(to, frame != NULL ? frame->line : NULL);
	text(to, frame != NULL && frame->module >= 0 ? profile->modules[frame->module].path : NULL);
	number(to, frame != NULL ? frame->offset : UNKNOWN);
}

static void summary(FILE *to, struct profile *profile)
{
	struct profile_sum up = profile_moved(profile, "h2d"), down = profile_moved(profile, "d2h");

	begin(to, profile);
	text(to, profile->process.program);
	text(to, profile->process.host);
	text(to, profile->environment.device);
	text(to, profile->backend.kind);
	number(to, profile->wall_ns);
	for (int part = 0; part < SHOW_PARTS; part++)
		number(to, show_part_ns(&profile->split, part));
	number(to, profile->host.copy_calls_ns);
	number(to, profile->host.waiting_for_kernels_ns);
	number(to, profile->host.waits_ns);
	const struct profile_sum *sums[] = { &up, &down };
	for (size_t i = 0; i < HP_LEN(sums); i++) {
		number(to, sums[i]->count);
		number(to, sums[i]->bytes);
		number(to, sums[i]->host_ns);
	}
	number(to, profile->promotion.cupti_pinned_bytes);
	number(to, profile->kernel_runs.count);
	number(to, profile->kernel_runs.busy_ns);
	number(to, profile->effect.saved_ns);
	fputc('\n', to);
}

static void transfers(FILE *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		begin(to, profile);
		text(to, row->view);
		text(to, row->direction);
		text(to, row->memory);
		number(to, row->count);
		number(to, row->bytes);
		number(to, row->busy_ns);
		number(to, row->host_ns);
		number(to, row->sync_count);
		number(to, row->sync_bytes);
		number(to, row->sync_ns);
		fputc('\n', to);
	}
}

static void sizes(FILE *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		for (size_t j = 0; j < row->size_count; j++) {
			begin(to, profile);
			text(to, row->view);
			text(to, row->direction);
			text(to, row->memory);
			number(to, row->sizes[j].from_bytes);
			number(to, row->sizes[j].count);
			number(to, row->sizes[j].bytes);
			number(to, row->sizes[j].busy_ns);
			fputc('\n', to);
		}
	}
}

static void kernels(FILE *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->kernel_count; i++) {
		const struct profile_kernel *kernel = &profile->kernels[i];

		begin(to, profile);
		text(to, kernel->readable);
		number(to, kernel->count);
		number(to, kernel->busy_ns);
		number(to, kernel->longest_ns);
		fputc('\n', to);
	}
}

static void sites(FILE *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->site_count; i++) {
		const struct profile_site *site = &profile->sites[i];

		for (size_t j = 0; j < site->row_count; j++) {
			begin(to, profile);
			place(to, profile, &site->frames, false);
			text(to, site->rows[j].direction);
			text(to, site->rows[j].memory);
			number(to, site->rows[j].count);
			number(to, site->rows[j].bytes);
			number(to, site->rows[j].host_ns);
			fputc('\n', to);
		}
	}
}

static void buffers(FILE *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->buffer_count; i++) {
		const struct profile_buffer *buffer = &profile->buffers[i];
		const struct profile_sum *sums[] = { &buffer->h2d, &buffer->d2h };

		begin(to, profile);
		text(to, buffer->kind);
		place(to, profile, &buffer->frames, true);
		number(to, buffer->largest_bytes);
		for (size_t j = 0; j < HP_LEN(sums); j++) {
			number(to, sums[j]->count);
			number(to, sums[j]->bytes);
			number(to, sums[j]->host_ns);
		}
		number(to, buffer->promoted_bytes);
		number(to, buffer->pins);
		number(to, buffer->pin_ns);
		number(to, buffer->saved_ns);
		number(to, buffer->could_save_ns);
		fputc('\n', to);
	}
}

static void stages(FILE *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->stage_count; i++) {
		const struct profile_stage *stage = &profile->stages[i];

		begin(to, profile);
		text(to, stage->name);
		text(to, stage->domain);
		number(to, stage->entered);
		number(to, stage->wall_ns);
		for (int part = 0; part < SHOW_PARTS; part++)
			number(to, show_part_ns(&stage->split, part));
		number(to, stage->h2d.bytes);
		number(to, stage->d2h.bytes);
		number(to, stage->launches);
		fputc('\n', to);
	}
}

static void entries(FILE *to, const struct profile *profile, const struct profile_entries *list)
{
	for (size_t i = 0; i < list->count; i++) {
		begin(to, profile);
		text(to, list->items[i].name);
		number(to, list->items[i].value);
		fputc('\n', to);
	}
}

static void counters(FILE *to, struct profile *profile)
{
	entries(to, profile, &profile->counters);
}

static void calls(FILE *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->call_count; i++) {
		const struct profile_call *call = &profile->calls[i];

		begin(to, profile);
		text(to, call->name);
		text(to, call->class);
		number(to, call->count);
		number(to, call->total_ns);
		number(to, call->longest_ns);
		fputc('\n', to);
	}
}

static void durations(FILE *to, struct profile *profile)
{
	size_t count;
	const struct each *each = each_make(profile, &count);

	for (size_t i = 0; i < count; i++) {
		begin(to, profile);
		text(to, each_kind_name(each[i].kind));
		text(to, each[i].name);
		number(to, each[i].count);
		number(to, each[i].bytes);
		number(to, each[i].total_ns);
		number(to, each[i].spread.least);
		number(to, each[i].spread.median);
		number(to, each[i].spread.p99);
		number(to, each[i].spread.most);
		fputc('\n', to);
	}
}

static void tracks(FILE *to, struct profile *profile)
{
	size_t count;
	const struct each_track *rows = each_tracks(profile, &count);

	for (size_t i = 0; i < count; i++) {
		const struct each_track *row = &rows[i];
		const struct profile_track *track = row->track;

		begin(to, profile);
		text(to, track != NULL ? track->kind : "device");
		number(to, row->device);
		number(to, track != NULL ? track->context : UNKNOWN);
		number(to, track != NULL ? track->stream : UNKNOWN);
		number(to, track != NULL ? track->tid : UNKNOWN);
		text(to, track != NULL ? track->name : NULL);
		number(to, row->busy_ns);
		number(to, row->kernels);
		number(to, row->kernels_ns);
		number(to, row->copies);
		number(to, row->copied_bytes);
		number(to, row->copies_ns);
		number(to, row->waits);
		number(to, row->waits_ns);
		number(to, row->calls);
		number(to, row->calls_ns);
		fputc('\n', to);
	}
}

static void events(FILE *to, struct profile *profile)
{
	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];
		const struct profile_track *track = &profile->events.tracks[event->track];

		begin(to, profile);
		text(to, each_kind_name(event->kind));
		text(to, track->kind);
		number(to, track->device);
		number(to, track->stream);
		number(to, track->tid);
		number(to, event->start_ns);
		number(to, event->duration_ns);
		text(to, event->name >= 0 ? profile->events.names[event->name] : NULL);
		number(to, event->bytes);
		fputc('\n', to);
		progress_show("writing the table", i, profile->events.row_count);
	}
	progress_clear();
}

static void advice(FILE *to, struct profile *profile)
{
	static struct advice_list list;

	advice_make(profile, &list);
	for (size_t i = 0; i < list.count; i++) {
		const struct advice *entry = &list.items[i];

		begin(to, profile);
		text(to, advice_kinds[entry->kind]);
		text(to, entry->what);
		text(to, entry->where);
		number(to, entry->saves_ns);
		text(to, entry->is_estimate ? "estimate" : "bound");
		text(to, entry->how);
		text(to, entry->assumes);
		number(to, entry->hotpin_does_it);
		fputc('\n', to);
	}
}

static const struct table {
	const char *name;
	void (*write)(FILE *to, struct profile *profile);
	const char *columns; /* the columns after those of begin() */
	bool of_timeline;
} tables[] = {
	{ "summary", summary,
	  "program,host,device,backend,wall_ns,host_ns,startup_ns,calls_ns,transfer_ns,kernel_ns,overlap_ns,"
	  "copy_calls_ns,waiting_for_kernels_ns,waits_ns,h2d_copies,h2d_bytes,h2d_ns,d2h_copies,"
	  "d2h_bytes,d2h_ns,cupti_pinned_bytes,kernel_runs,kernel_busy_ns,saved_ns" },
	{ "transfers", transfers,
	  "view,direction,memory,count,bytes,busy_ns,host_ns,sync_count,sync_bytes,sync_ns" },
	{ "sizes", sizes, "view,direction,memory,from_bytes,count,bytes,busy_ns" },
	{ "kernels", kernels, "kernel,count,busy_ns,longest_ns" },
	{ "sites", sites, "function,line,module,offset,direction,memory,count,bytes,host_ns" },
	{ "buffers", buffers,
	  "kind,function,line,module,offset,largest_bytes,h2d_count,h2d_bytes,h2d_host_ns,d2h_count,"
	  "d2h_bytes,d2h_host_ns,promoted_bytes,pins,pin_ns,saved_ns,could_save_ns" },
	{ "stages", stages,
	  "range,domain,entered,wall_ns,host_ns,startup_ns,calls_ns,transfer_ns,kernel_ns,overlap_ns,h2d_bytes,"
	  "d2h_bytes,launches" },
	{ "counters", counters, "counter,count" },
	{ "calls", calls, "call,class,count,total_ns,longest_ns" },
	{ "advice", advice, "kind,what,place,saves_ns,basis,how,assumes,hotpin_run_does_it" },
	{ "durations", durations,
	  "kind,name,count,bytes,total_ns,least_ns,median_ns,p99_ns,most_ns", true },
	{ "tracks", tracks,
	  "track,device,context,stream,tid,thread,busy_ns,kernels,kernels_ns,copies,bytes,copies_ns,"
	  "waits,waits_ns,calls,calls_ns",
	  true },
	{ "events", events, "kind,track,device,stream,tid,start_ns,duration_ns,name,bytes", true },
};

static const struct table *table_named(const char *name)
{
	for (const struct table *table = tables; table < tables + HP_LEN(tables); table++)
		if (strcmp(table->name, name) == 0)
			return table;
	hotpin_say("there is no table %s; there are:", show_text(name, 40));
	for (const struct table *table = tables; table < tables + HP_LEN(tables); table++)
		fprintf(stderr, "  %s\n", table->name);
	return NULL;
}

static bool has_events(const struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (profiles[i].events.known)
			return true;
	hotpin_say("no timeline in %s; run the program with --profile=trace",
		   count == 1 ? show_text(profiles[0].path, 200) : "any of these files");
	return false;
}

static bool write_table(FILE *to, const struct table *table, struct profile *profiles, size_t count)
{
	if (table->of_timeline && !has_events(profiles, count))
		return false;
	names_resolve(profiles, count,
		      table->write == sites || table->write == buffers || table->write == advice);
	places_merge_sites(profiles, count);
	fprintf(to, "file,stage,rank,%s\n", table->columns);
	for (size_t i = 0; i < count; i++)
		table->write(to, &profiles[i]);
	return true;
}

static bool write_folded(FILE *to, struct profile *profiles, size_t count)
{
	names_resolve(profiles, count, true);
	return folded_write(to, profiles, count);
}

int hotpin_csv(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "folded", no_argument, NULL, 'f' },
		{ "out", required_argument, NULL, 'o' },
		{ "table", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const struct table *table = NULL;
	const char *path = NULL;
	bool folded = false;
	struct target target;
	int option, status = EXIT_FAILURE;

	while ((option = getopt_long(argc, argv, "ho:t:", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("csv");
		if (option == '?')
			return hotpin_misused("csv");
		if (option == 'o')
			path = optarg;
		folded |= option == 'f';
		if (option == 't' && (table = table_named(optarg)) == NULL)
			return EXIT_USAGE;
	}
	if (folded && table != NULL) {
		hotpin_say("--folded writes no table; leave out --table");
		return hotpin_misused("csv");
	}
	if (table == NULL)
		table = tables;
	size_t count = (size_t)(argc - optind);
	if (count == 0) {
		hotpin_say("no profile to read; name a file of `hotpin run -o FILE`");
		return hotpin_misused("csv");
	}

	/* Opening the output first avoids a long read in vain if it cannot be written. */
	if (target_open(&target, path, argv + optind, count, false) < 0)
		return EXIT_FAILURE;
	struct profile *profiles = profile_open_all(argv + optind, count);
	if (profiles == NULL) {
		target_drop(&target);
		return EXIT_FAILURE;
	}
	if (folded ? write_folded(target.to, profiles, count)
		   : write_table(target.to, table, profiles, count))
		status = target_close(&target) < 0 ? EXIT_FAILURE : 0;
	else
		target_drop(&target);
	profile_close_all(profiles, count);
	return status;
}
