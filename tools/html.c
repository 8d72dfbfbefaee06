/*
 * html.c - `hotpin html`: profiles as one page that opens anywhere, offline.
 */
#include "hotpin.h"
#include "names.h"
#include "page.h"
#include "progress.h"
#include "show.h"
#include "target.h"
#include "base/parse.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MOST 200

static void title_of(const struct profile *profile, char *ret, size_t room)
{
	snprintf(ret, room, "%s%s%s%s", show_text(profile->process.program, 40),
		 profile->stage != NULL ? ", " : "",
		 profile->stage != NULL ? show_text(profile->stage, 80) : "",
		 profile->state != NULL && strcmp(profile->state, "running") == 0 ? " (not ended)"
										  : "");
}

static void head(FILE *to, const struct profile *profile)
{
	char text[1024];

	snprintf(text, sizeof(text), "%s. Process %lld on %s%s%s, ended %s. %s, CUDA %s, %s %s.",
		 show_text(profile->path, 120), (long long)profile->process.pid,
		 show_text(profile->process.host, 64),
		 profile->process.rank != NULL ? ", rank " : "",
		 profile->process.rank != NULL ? show_text(profile->process.rank, 16) : "",
		 show_when(profile->process.ended_utc), show_text(profile->environment.device, 64),
		 show_cuda_version(profile->environment.driver_version),
		 strcmp(profile_view(profile), "cupti") == 0 ? "CUPTI" : "times at the call only",
		 strcmp(profile_view(profile), "cupti") == 0
			 ? show_cupti_version(profile->environment.cupti_version)
			 : "");
	page_element(to, "p class=\"soft\"", text);
	if (profile->state != NULL && strcmp(profile->state, "running") == 0)
		page_element(to, "p class=\"note\"",
			     "The program had not ended when this was written, or was killed: all "
			     "figures are up to then.");
	if (profile->environment.stand_in)
		page_element(to, "p class=\"note\"",
			     "On the stand-in device: all device times are modelled.");
	if (profile->truncated)
		page_element(to, "p class=\"note\"",
			     "Records are missing: not all had come when the program ended.");
	for (size_t i = 0; i < profile->warning_count; i++)
		page_element(to, "p class=\"note\"", show_text(profile->warnings[i], 300));
}

static void wall(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<wall time", "time", "share", "<" };
	unsigned tenths[5];

	if (profile_has_split(profile)) {
		show_split_tenths(&profile->split, tenths);
		page_split_bar(to, &profile->split, 1, 1);
		page_element(to, "p class=\"verdict\"", show_verdict(profile));
	}
	page_table_begin(to, columns, HP_LEN(columns));
	page_row(to, columns, HP_LEN(columns),
		 (const char *[]){ "all", show_time(profile->wall_ns), "100.0 %", "" });
	for (int part = 0; part < 5 && profile_has_split(profile); part++) {
		char percent[16];

		snprintf(percent, sizeof(percent), "%u.%u %%", tenths[part] / 10,
			 tenths[part] % 10);
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ show_parts[part].name,
					   show_time(show_part_ns(&profile->split, part)), percent,
					   show_parts[part].note });
	}
	if (!profile_has_split(profile))
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ "inside calls that wait",
					   show_time(profile->host.waits_ns),
					   show_share(profile->host.waits_ns, profile->wall_ns),
					   "transfers and kernels on the device: n/a" });
	page_row(to, columns, HP_LEN(columns),
		 (const char *[]){ "inside calls that copy", show_time(profile->host.copy_calls_ns),
				   show_share(profile->host.copy_calls_ns, profile->wall_ns),
				   "of the host, whatever the device did meanwhile" });
	if (profile->host.copying_ns >= 0) {
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ "- copying", show_time(profile->host.copying_ns),
					   show_share(profile->host.copying_ns, profile->wall_ns),
					   "" });
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ "- of that, staging",
					   show_time(profile->host.staging_ns),
					   show_share(profile->host.staging_ns, profile->wall_ns),
					   "an estimate" });
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){
				 "- waiting for kernels",
				 show_time(profile->host.waiting_for_kernels_ns),
				 show_share(profile->host.waiting_for_kernels_ns, profile->wall_ns),
				 "" });
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ "- overhead", show_time(profile->host.overhead_ns),
					   show_share(profile->host.overhead_ns, profile->wall_ns),
					   "" });
	}
	page_table_end(to);
}

static void transfers(FILE *to, const struct profile *profile)
{
	bool device = strcmp(profile_view(profile), "cupti") == 0;
	const char *const columns[] = { "<copies", "count",  "bytes", device ? "time" : "at call",
					"GB/s",    "of peak" };
	char text[256];

	page_element(to, "h3", "Copies");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->transfer_count; i++) {
		const struct profile_transfer *row = &profile->transfers[i];

		if (strcmp(row->view, profile_view(profile)) != 0)
			continue;
		int64_t bytes = device ? profile_timed_bytes(row) : row->sync_bytes;
		int64_t ns = device ? row->busy_ns : row->sync_ns;

		snprintf(text, sizeof(text), "%s %s", show_direction(row->direction),
			 show_text(row->memory, 16));
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ text, show_count(row->count), show_bytes(row->bytes),
					   show_time(device ? row->busy_ns : row->host_ns),
					   show_rate(bytes, ns),
					   device ? show_of_peak(profile, row) : "n/a" });
	}
	page_table_end(to);
	snprintf(text, sizeof(text),
		 "Peak of the link: %s GB/s to the device, %s GB/s back (%s). "
		 "Coverage: %s copies seen by hotpin, %s by CUPTI.",
		 show_rate(profile->environment.peak_h2d_bytes_per_s, 1000000000),
		 show_rate(profile->environment.peak_d2h_bytes_per_s, 1000000000),
		 show_text(profile->environment.peak_source, 16),
		 show_count(profile->coverage.hotpin_copies),
		 show_count(profile->coverage.cupti_copies));
	page_element(to, "p class=\"soft\"", text);
	fputs("<div class=\"charts\">\n", to);
	page_sizes_chart(to, profile);
	page_rates_chart(to, profile);
	fputs("</div>\n", to);
}

static int by_kernel_time(const void *left, const void *right)
{
	const struct profile_kernel *a = left, *b = right;

	return a->busy_ns > b->busy_ns ? -1 : a->busy_ns < b->busy_ns;
}

static void more_rows(FILE *to, size_t count)
{
	char text[64];

	if (count <= ROWS_MOST)
		return;
	snprintf(text, sizeof(text), "and %zu more in the JSON", count - ROWS_MOST);
	page_element(to, "p class=\"soft\"", text);
}

static void kernels(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<kernels", "runs", "time", "longest", "share" };

	if (profile->kernel_count == 0)
		return;
	qsort(profile->kernels, profile->kernel_count, sizeof(*profile->kernels), by_kernel_time);
	page_element(to, "h3", "Kernels");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->kernel_count && i < ROWS_MOST; i++) {
		const struct profile_kernel *kernel = &profile->kernels[i];

		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){
				 show_text(kernel->readable, 300), show_count(kernel->count),
				 show_time(kernel->busy_ns), show_time(kernel->longest_ns),
				 show_share(kernel->busy_ns, profile->kernel_runs.busy_ns) });
	}
	page_table_end(to);
	more_rows(to, profile->kernel_count);
}

/* "solve() at solve.cu:42, called from main() in heat", escaped for a terminal as for a page. */
static void place(const struct profile *profile, const struct profile_frames *frames,
		  bool allocation, char *ret, size_t room)
{
	const struct profile_frame *frame = names_frame(profile, frames, allocation);
	char name[400];

	names_place(profile, frame, name, sizeof(name));
	snprintf(ret, room, "%s%s", show_text(name, 200),
		 frame != NULL && frame->guessed ? " (likely)" : "");
	if (frame == NULL || frame + 1 >= frames->items + frames->count)
		return;
	names_place(profile, frame + 1, name, sizeof(name));
	size_t used = strlen(ret);
	snprintf(ret + used, room - used, ", called from %s", show_text(name, 200));
}

static int64_t site_ns(const struct profile_site *site)
{
	int64_t ns = 0;

	for (size_t i = 0; i < site->row_count; i++)
		ns = profile_add(ns, site->rows[i].host_ns);
	return ns;
}

static int by_site_time(const void *left, const void *right)
{
	int64_t a = site_ns(left), b = site_ns(right);

	return a > b ? -1 : a < b;
}

static void sites(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<call sites", "<copies", "count", "bytes",
					       "at call" };

	if (profile->site_count == 0)
		return;
	qsort(profile->sites, profile->site_count, sizeof(*profile->sites), by_site_time);
	page_element(to, "h3", "Call sites of copies");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->site_count && i < ROWS_MOST; i++) {
		const struct profile_site *site = &profile->sites[i];
		char name[1024], kind[64];

		place(profile, &site->frames, false, name, sizeof(name));
		for (size_t j = 0; j < site->row_count; j++) {
			const struct profile_row *row = &site->rows[j];

			snprintf(kind, sizeof(kind), "%s %s", show_direction(row->direction),
				 show_text(row->memory, 16));
			page_row(to, columns, HP_LEN(columns),
				 (const char *[]){ j == 0 ? name : "", kind, show_count(row->count),
						   show_bytes(row->bytes),
						   show_time(row->host_ns) });
		}
	}
	page_table_end(to);
	more_rows(to, profile->site_count);
}

static int by_buffer_time(const void *left, const void *right)
{
	const struct profile_buffer *a = left, *b = right;
	int64_t one = profile_add(a->h2d.host_ns, a->d2h.host_ns),
		other = profile_add(b->h2d.host_ns, b->d2h.host_ns);

	return one > other ? -1 : one < other;
}

static void buffers(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<buffers, by who allocated them",
					       "largest",
					       "HtoD",
					       "bytes",
					       "DtoH",
					       "bytes",
					       "at call",
					       "pins",
					       "cost",
					       "saved, about",
					       "could save, about" };

	if (profile->buffer_count == 0)
		return;
	qsort(profile->buffers, profile->buffer_count, sizeof(*profile->buffers), by_buffer_time);
	page_element(to, "h3", "Buffers");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->buffer_count && i < ROWS_MOST; i++) {
		const struct profile_buffer *buffer = &profile->buffers[i];
		char name[1024] = "static ";
		bool is_static = strcmp(buffer->kind, "static") == 0;

		if (strcmp(buffer->kind, "other") == 0)
			strcpy(name, "memory that hotpin did not allocate");
		else
			place(profile, &buffer->frames, true, name + (is_static ? 7 : 0),
			      sizeof(name) - 7);
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){
				 name, show_bytes(buffer->largest_bytes),
				 show_count(buffer->h2d.count), show_bytes(buffer->h2d.bytes),
				 show_count(buffer->d2h.count), show_bytes(buffer->d2h.bytes),
				 show_time(profile_add(buffer->h2d.host_ns, buffer->d2h.host_ns)),
				 show_count(buffer->pins), show_time(buffer->pin_ns),
				 show_time(buffer->saved_ns), show_time(buffer->could_save_ns) });
	}
	page_table_end(to);
	more_rows(to, profile->buffer_count);
}

static void bounds(FILE *to, const struct profile *profile)
{
	bool any = false;
	char text[400];

	for (size_t i = 0; i < profile->bound_count; i++)
		any |= profile->bounds[i].wall_ns >= 0;
	if (!any)
		return;
	page_element(to, "h3", "What if (bounds, not promises)");
	for (size_t i = 0; i < profile->bound_count; i++) {
		const struct profile_bound *bound = &profile->bounds[i];

		snprintf(text, sizeof(text), "%s: at least %s, at most %s less%s%s",
			 show_bound(bound->name), show_time(bound->wall_ns),
			 show_time(bound->saves_ns), bound->assumes != NULL ? "; if " : "",
			 bound->assumes != NULL ? show_text(bound->assumes, 150) : "");
		page_element(to, "p", text);
		page_bar(to, "kernels", bound->wall_ns, profile->wall_ns);
	}
}

static void repeats(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<candidates for removal", "copies", "bytes",
					       "at call" };

	if (!profile->repeats.known)
		return;
	page_element(to, "h3", "Copies of equal bytes");
	page_table_begin(to, columns, HP_LEN(columns));
	const struct profile_sum *sums[] = { &profile->repeats.duplicates,
					     &profile->repeats.ping_pong };
	static const char *const names[] = { "the bytes that this place got the last time",
					     "came from the device, unchanged by the host" };
	for (size_t i = 0; i < HP_LEN(sums); i++)
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ names[i], show_count(sums[i]->count),
					   show_bytes(sums[i]->bytes),
					   show_time(sums[i]->host_ns) });
	page_table_end(to);
}

static void effect(FILE *to, const struct profile *profile)
{
	char text[512];

	page_element(to, "h3", "What hotpin did");
	snprintf(text, sizeof(text),
		 "%s copies of pinned buffers (%s), %s staged (%s), %s deferred, %s waits removed. "
		 "Pinned %s times, unpinned %s. Saved about %s (an estimate).",
		 show_count(profile->effect.promoted_copies),
		 show_bytes(profile->effect.promoted_bytes),
		 show_count(profile->effect.staged_copies),
		 show_bytes(profile->effect.staged_bytes),
		 show_count(profile->effect.deferred_copies),
		 show_count(profile->effect.waits_removed), show_count(profile->effect.pins),
		 show_count(profile->effect.unpins), show_time(profile->effect.saved_ns));
	page_element(to, "p", text);
}

static void stages(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<range",    "entered", "wall", "cpu only",
					       "transfers", "kernels", "both", "idle" };

	if (profile->stage_count == 0)
		return;
	page_element(to, "h3", "Stages (NVTX ranges)");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->stage_count && i < ROWS_MOST; i++) {
		const struct profile_stage *stage = &profile->stages[i];

		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ show_text(stage->name, 200), show_count(stage->entered),
					   show_time(stage->wall_ns),
					   show_time(stage->split.cpu_ns),
					   show_time(stage->split.transfer_ns),
					   show_time(stage->split.kernel_ns),
					   show_time(stage->split.overlap_ns),
					   show_time(stage->split.idle_ns) });
	}
	page_table_end(to);
	more_rows(to, profile->stage_count);
}

static void counters(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<counter", "count" };
	static const char *const settings[] = { "<option", "<value" };

	fputs("<details>", to);
	page_element(to, "summary", "Counters and options");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->counters.count; i++)
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ show_text(profile->counters.items[i].name, 80),
					   show_count(profile->counters.items[i].value) });
	page_table_end(to);
	page_table_begin(to, settings, HP_LEN(settings));
	for (size_t i = 0; i < profile->options.count; i++)
		page_row(to, settings, HP_LEN(settings),
			 (const char *[]){ show_text(profile->options.items[i].name, 80),
					   show_text(profile->options.items[i].text, 200) });
	page_table_end(to);
	fputs("</details>\n", to);
}

static void section(FILE *to, const struct profile *profile, size_t index)
{
	char title[512];

	title_of(profile, title, sizeof(title));
	fprintf(to, "<section id=\"run%zu\">\n", index + 1);
	page_element(to, "h2", title);
	head(to, profile);
	wall(to, profile);
	transfers(to, profile);
	kernels(to, profile);
	sites(to, profile);
	buffers(to, profile);
	repeats(to, profile);
	bounds(to, profile);
	effect(to, profile);
	stages(to, profile);
	counters(to, profile);
	fputs("</section>\n", to);
}

/* All wall times on one scale, each with a link to its section. */
static void overview(FILE *to, const struct profile *profiles, size_t count)
{
	int64_t longest_ns = 0;
	char text[512];

	for (size_t i = 0; i < count; i++)
		if (profiles[i].wall_ns > longest_ns)
			longest_ns = profiles[i].wall_ns;
	page_split_legend(to);
	for (size_t i = 0; i < count && count > 1; i++) {
		title_of(&profiles[i], text, sizeof(text));
		fprintf(to, "<p><a href=\"#run%zu\">", i + 1);
		page_text(to, text);
		fputs("</a> ", to);
		page_text(to, show_time(profiles[i].wall_ns));
		fputs("</p>\n", to);
		if (profile_has_split(&profiles[i]))
			page_split_bar(to, &profiles[i].split, profiles[i].wall_ns, longest_ns);
		else
			page_bar(to, "idle", profiles[i].wall_ns, longest_ns);
	}
}

static void write_page(FILE *to, const struct profile *profiles, size_t count)
{
	char title[512], program[300];

	title_of(&profiles[0], program, sizeof(program));
	snprintf(title, sizeof(title), "hotpin: %s%s", program, count > 1 ? " and more" : "");
	page_begin(to, title);
	overview(to, profiles, count);
	for (size_t i = 0; i < count; i++) {
		progress_show("writing the page", i, count);
		section(to, &profiles[i], i);
	}
	page_element(to, "footer",
		     "Written by hotpin " HOTPIN_VERSION
		     ". n/a is unknown; what is called an estimate or a bound is one.");
	page_end(to);
	progress_clear();
}

int hotpin_html(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "out", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *path = NULL;
	int option, status = EXIT_FAILURE;

	while ((option = getopt_long(argc, argv, "ho:", longs, NULL)) != -1) {
		if (option == 'h')
			return hotpin_help("html");
		if (option == '?')
			return hotpin_misused("html");
		path = optarg;
	}
	size_t count = (size_t)(argc - optind), opened = 0;
	if (count == 0)
		return hotpin_misused("html");

	struct profile *profiles = calloc(count, sizeof(*profiles));
	struct target target;
	while (profiles != NULL && opened < count &&
	       profile_open(argv[optind + (int)opened], &profiles[opened]) == 0)
		names_resolve(&profiles[opened++], true);
	if (profiles != NULL && opened == count && target_open(&target, path) == 0) {
		write_page(target.to, profiles, count);
		status = target_close(&target) < 0 ? EXIT_FAILURE : 0;
	}
	for (size_t i = 0; i < opened; i++)
		profile_close(&profiles[i]);
	free(profiles);
	return status;
}
