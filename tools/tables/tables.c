/*
 * tables.c - the list of tables, and those of kernels, calls, ranges and the run.
 */
#include "tables/tables.h"
#include "analyze/advice.h"
#include "names/names.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"
#include "base/parse.h"
#include "base/terminal.h"

#include <stdio.h>
#include <string.h>

static const struct table_column kernel_columns[] = {
	{ "kernel", "Name", TABLE_TEXT, TABLE_AT(profile_kernel, readable) },
	{ NULL, "Time%", TABLE_SHARE },
	{ "busy_ns", "Total", TABLE_TIME, TABLE_AT(profile_kernel, busy_ns) },
	{ "count", "Runs", TABLE_COUNT, TABLE_AT(profile_kernel, count) },
	{ NULL, "Avg", TABLE_TIME },
	{ "longest_ns", "Max", TABLE_TIME, .drop = 1, TABLE_AT(profile_kernel, longest_ns) },
};

static void fill_kernel(struct table_rows *rows, struct profile *profile)
{
	const struct profile_kernel **kernels = sorted_kernels(profile);
	int64_t graphs = profile->host.graph_launches, memsets = profile->memsets.count;

	for (size_t i = 0; i < profile->kernel_count; i++)
		TABLE_ROW(rows, kernels[i],
			  table_share(kernels[i]->busy_ns, profile->kernel_runs.busy_ns),
			  table_mean(kernels[i]->busy_ns, kernels[i]->count));
	rows->title = text_made(
		"%s%s%s", text_several(profile->host.launches, "launch", "launches"),
		text_if(graphs > 0, ", %s", text_several(graphs, "graph launch", "graph launches")),
		text_if(memsets > 0, ", %s", text_several(memsets, "memset", "memsets")));
	if (profile->kernel_count == 0 && (profile->host.launches > 0 || graphs > 0))
		table_say(rows, "The times of kernels are unknown.");
}

static const struct table_column launch_columns[] = {
	{ "", "Launched at", TABLE_PLACE },
	{ "device_ns", "Kernel time", TABLE_TIME, TABLE_AT(profile_launch, device_ns) },
	{ "kernels", "Kernels", TABLE_COUNT, TABLE_AT(profile_launch, kernels) },
	{ "host_ns", "At launch", TABLE_TIME, TABLE_AT(profile_launch, host_ns) },
};

static void fill_launch(struct table_rows *rows, struct profile *profile)
{
	const struct profile_launch **all = sorted_launches(profile);

	for (size_t i = 0; i < profile->launch_count && all[i]->device_ns >= 0; i++)
		TABLE_ROW(rows, all[i],
			  table_place(names_frame(profile, &all[i]->frames, false), ""));
	rows->title = "kernel time by place of launch";
	if (profile->launches_lost > 0)
		table_say(rows, "%s have no place here, because the profile has no room for it.",
			  text_several(profile->launches_lost, "launch", "launches"));
}

static const struct table_column call_columns[] = {
	{ "call", "Name", TABLE_TEXT, TABLE_AT(profile_call, name) },
	{ "class", "Kind", TABLE_TEXT, .drop = 2, TABLE_AT(profile_call, class) },
	{ NULL, "Wall%", TABLE_SHARE },
	{ "total_ns", "Total", TABLE_TIME, TABLE_AT(profile_call, total_ns) },
	{ "count", "Calls", TABLE_COUNT, TABLE_AT(profile_call, count) },
	{ NULL, "Avg", TABLE_TIME },
	{ "longest_ns", "Max", TABLE_TIME, .drop = 1, TABLE_AT(profile_call, longest_ns) },
};

static void fill_call(struct table_rows *rows, struct profile *profile)
{
	const struct profile_call **calls = sorted_calls(profile);

	for (size_t i = 0; i < profile->call_count; i++)
		TABLE_ROW(rows, calls[i], table_share(calls[i]->total_ns, profile->wall_ns),
			  table_mean(calls[i]->total_ns, calls[i]->count));
	rows->title = "host time inside driver calls";
}

static const struct table_column range_columns[] = {
	{ "range", "Range", TABLE_TEXT, TABLE_AT(profile_range, name) },
	{ "domain", NULL, TABLE_TEXT, TABLE_AT(profile_range, domain) },
	{ "entered", "Entered", TABLE_COUNT, TABLE_AT(profile_range, entered) },
	{ "wall_ns", "Wall", TABLE_TIME, TABLE_AT(profile_range, wall_ns) },
#define STATE(field, title, heading, dropped) \
	{ #field "_ns", heading, TABLE_TIME, dropped, TABLE_AT(profile_range, split.field##_ns) },
#include "base/states.def"
	{ "h2d_bytes", NULL, TABLE_BYTES, TABLE_AT(profile_range, h2d.bytes) },
	{ "d2h_bytes", NULL, TABLE_BYTES, TABLE_AT(profile_range, d2h.bytes) },
	{ "launches", NULL, TABLE_COUNT, TABLE_AT(profile_range, launches) },
};

static void fill_range(struct table_rows *rows, struct profile *profile)
{
	for (size_t i = 0; i < profile->range_count; i++)
		table_add(rows, &profile->ranges[i], NULL, 0);
}

static const struct table_column counter_columns[] = {
	{ "counter", "Counter", TABLE_TEXT, TABLE_AT(profile_entry, name) },
	{ "count", "Count", TABLE_COUNT, TABLE_AT(profile_entry, value) },
};

static void fill_counter(struct table_rows *rows, struct profile *profile)
{
	for (size_t i = 0; i < profile->counters.count; i++)
		if (profile->counters.items[i].value != 0 || rows->form == TABLE_CSV)
			table_add(rows, &profile->counters.items[i], NULL, 0);
}

static const struct table_column option_columns[] = {
	{ "option", "Option", TABLE_TEXT, TABLE_AT(profile_entry, name) },
	{ "value", "Value", TABLE_TEXT, TABLE_AT(profile_entry, text) },
};

static void fill_option(struct table_rows *rows, struct profile *profile)
{
	for (size_t i = 0; i < profile->options.count; i++)
		table_add(rows, &profile->options.items[i], NULL, 0);
}

static const struct table_column state_columns[] = {
	{ "state", "", TABLE_TEXT },
	{ "ns", "", TABLE_TIME },
	{ NULL, "", TABLE_SHARE },
	{ NULL, "", TABLE_BAR },
};

static void add_state(struct table_rows *rows, const char *title, int64_t ns, int64_t part,
		      int64_t whole, const char *class)
{
	if (ns != 0 || rows->form == TABLE_CSV)
		TABLE_ROW(rows, NULL, table_text(title), table_number(ns), table_share(part, whole),
			  table_bar(class, part, whole));
}

/* Says how long calls that copy, and calls that wait, block the host. */
static void say_blocked(struct table_rows *rows, const struct profile_host *host)
{
	const int64_t ns[] = { host->copying_ns, host->waiting_for_kernels_ns, host->overhead_ns };
	static const char *const names[] = { "copying", "for kernels", "overhead" };
	const char *parts = "";

	for (size_t i = 0; i < HP_LEN(ns); i++)
		if (ns[i] > 0)
			parts = text_made("%s%s %s %s", parts, parts[0] != '\0' ? "," : ":",
					  text_time(ns[i]), names[i]);
	if (host->copy_calls_ns > 0)
		table_say(rows, "Blocked in copy calls for %s%s.", text_time(host->copy_calls_ns),
			  parts);
	if (host->copy_calls_ns > 0 && host->staging_ns > 0)
		table_say(rows, "About %s of it is staging: the driver copies pageable memory.",
			  text_time(host->staging_ns));
	if (host->waits > 0)
		table_say(rows, "Blocked in waits for %s, %s.", text_time(host->waits_ns),
			  text_several(host->waits, "call", "calls"));
}

/* Says how copies affect the host, in one sentence or in all. */
static void say_copies(struct table_rows *rows, const struct profile *profile)
{
	int64_t copies_ns = profile->host.copy_calls_ns, kernels_ns = profile->kernel_runs.busy_ns;
	int64_t moving_ns = profile_add(profile->split.transfer_ns, profile->split.overlap_ns);

	if (rows->detail == TABLE_ALL) {
		if (moving_ns > 0)
			table_say(rows, "The device works %s of the time; %s.",
				  text_share(profile_add(moving_ns, profile->split.kernel_ns),
					     profile->wall_ns),
				  profile->split.overlap_ns > 0
					  ? text_made("kernels overlap %s of the copy time",
						      text_share(profile->split.overlap_ns,
								 moving_ns))
					  : "no kernel overlaps a copy");
		say_blocked(rows, &profile->host);
	} else if (copies_ns > 0 && kernels_ns > 0 && copies_ns / kernels_ns >= 2) {
		table_say(rows, "Copies block the host for %s to feed %s of kernels (%lld:1).",
			  text_time(copies_ns), text_time(kernels_ns),
			  (long long)((copies_ns + kernels_ns / 2) / kernels_ns));
	} else if (copies_ns > 0) {
		table_say(rows, "Copies block the host for %s.", text_time(copies_ns));
	}
}

static void fill_state(struct table_rows *rows, struct profile *profile)
{
	const struct profile_host *host = &profile->host;
	unsigned tenths[TEXT_STATES];

	text_split_tenths(&profile->split, tenths);
	for (int state = 0;
	     state < TEXT_STATES && (profile_has_split(profile) || rows->form == TABLE_CSV);
	     state++) {
		int64_t ns = text_state_ns(&profile->split, state);
		bool in_tenths = tenths[state] > 0;

		add_state(rows, text_states[state].title, ns, in_tenths ? tenths[state] : ns,
			  in_tenths ? 1000 : profile->wall_ns, text_states[state].field);
	}
	if (!profile_has_split(profile) && rows->form != TABLE_CSV) {
		add_state(rows, "In copy calls", host->copy_calls_ns, host->copy_calls_ns,
			  profile->wall_ns, "transfer");
		add_state(rows, "In waits", host->waits_ns, host->waits_ns, profile->wall_ns,
			  "calls");
		table_say(rows, "%s.", text_no_split(profile));
	}
	if (!profile_used_no_device(profile))
		say_copies(rows, profile);
}

/* clang-format off */
static const struct table_column advice_columns[] = {
	{ "kind", NULL, TABLE_TEXT },
	{ NULL, "", TABLE_NUMBER },
	{ "what", "Next", TABLE_TEXT },
	{ "place", NULL, TABLE_TEXT },
	{ "saves_ns", "Saves", TABLE_TIME },
	{ NULL, "Of wall", TABLE_SHARE },
	{ NULL, "", TABLE_DRAWING },
	{ NULL, "Where", TABLE_PLACE },
	{ "basis", NULL, TABLE_TEXT },
	{ "how", NULL, TABLE_TEXT },
	{ "assumes", NULL, TABLE_TEXT },
	{ "hotpin_run_does_it", NULL, TABLE_COUNT },
};
/* clang-format on */

/* Returns how to make the change, and on what assumption it saves that much. */
static const char *advice_note(struct table_rows *rows, const struct advice *advice)
{
	bool has_place = rows->form != TABLE_PAGE && advice->where[0] != '\0';

	return text_made("%sby  %s%s", text_if(has_place, "at  %s\n", advice->where), advice->how,
			 text_if(advice->assumes[0] != '\0', "\nif  %s", advice->assumes));
}

/* Returns the clauses of a sentence that fit in a line; its first one may still be too long. */
static const char *clauses(const char *sentence, size_t columns)
{
	const char *whole = text_name(sentence, 2 * ADVICE_TEXT);
	size_t fits = 0;
	int depth = 0;

	if (terminal_width(whole) <= columns)
		return whole;
	for (const char *at = strstr(whole, ": ") + 1; *at != '\0'; at++) {
		bool ends = (at[1] == ' ' && strchr(";,:", at[0]) != NULL) ||
			    (at[0] == ' ' && (at[1] == '(' || at[-1] == ')'));

		if (ends && depth == 0)
			fits = terminal_fit(whole, columns - 1) >= (size_t)(at - whole)
				       ? (size_t)(at - whole)
				       : fits;
		depth += (at[0] == '(') - (at[0] == ')');
	}
	return fits > 0 ? text_made("%.*s.", (int)fits, whole) : text_name(sentence, columns);
}

/* Says what the table "Looks wrong" has. */
static void say_wrong(struct table_rows *rows, const struct profile *profile)
{
	int64_t frees = 0, ends = 0;

	for (size_t i = 0; i < profile->buffer_count; i++) {
		const struct profile_pinned *pinned = &profile->buffers[i].pinned;

		frees = profile_add(frees, pinned->unwaited_frees > 0 ? pinned->unwaited_frees : 0);
		ends = profile_add(ends, pinned->unwaited_at_end > 0 ? pinned->unwaited_at_end : 0);
	}
	if (frees + ends > 0)
		table_say(rows, "Looks wrong: nothing waits for %s before %s%s%s.",
			  text_several(profile_add(frees, ends), "download", "downloads"),
			  frees > 0 ? "memory is freed" : "", frees > 0 && ends > 0 ? " or " : "",
			  ends > 0 ? "the end" : "");
}

/* Says why there is no suggestion, and what is left: in a line each below suggestions. */
static void say_left(struct table_rows *rows, const struct profile *profile,
		     const struct advice_list *list, bool any)
{
	size_t columns = rows->detail == TABLE_FIRST && any ? 78 : 2 * ADVICE_TEXT;

	if (profile->process.exit_status > 0)
		table_say(rows, "The program failed; fix it first.");
	else if (list->is_done || (!any && !profile_used_no_device(profile)))
		table_say(rows, "%s", advice_nothing(list));
	say_wrong(rows, profile);
	if (list->left[0] != '\0')
		table_say(rows, "%s", clauses(text_made("Left: %s.", list->left), columns));
	if (list->blind[0] != '\0')
		table_say(rows, "%s", clauses(text_made("Not known: %s.", list->blind), columns));
}

static void fill_advice(struct table_rows *rows, struct profile *profile)
{
	struct advice_list *list = profile_allocate(profile, 1, sizeof(*list));
	size_t count = 0;

	advice_make(profile, list);
	for (; count < list->count; count++) {
		const struct advice *entry = &list->items[count];

		if (rows->detail != TABLE_ALL && !advice_is_worth(profile, entry))
			break;
		struct table_row *row =
			TABLE_ROW(rows, NULL, table_text(advice_kinds[entry->kind]),
				  table_number((int64_t)count + 1), table_text(entry->what),
				  table_text(entry->where),
				  table_about(entry->is_estimate ? "~" : "<=", entry->saves_ns),
				  table_share(entry->saves_ns, profile->wall_ns),
				  table_bar("saving", entry->saves_ns, profile->wall_ns),
				  /* A note below the row has it, too. */
				  rows->detail == TABLE_FIRST || rows->form == TABLE_PAGE
					  ? table_place_named(entry->frame, entry->where)
					  : table_place(NULL, ""),
				  table_text(entry->is_estimate ? "estimate" : "bound"),
				  table_text(entry->how), table_text(entry->assumes),
				  table_number(entry->hotpin_does_it));
		if (rows->detail != TABLE_FIRST)
			row->note = advice_note(rows, entry);
	}
	say_left(rows, profile, list, count > 0);
}

static const struct table_column summary_columns[] = {
	{ "program", NULL, TABLE_TEXT, TABLE_AT(profile, process.program) },
	{ "host", NULL, TABLE_TEXT, TABLE_AT(profile, process.host) },
	{ "device", NULL, TABLE_TEXT, TABLE_AT(profile, environment.device) },
	{ "backend", NULL, TABLE_TEXT, TABLE_AT(profile, backend.kind) },
	{ "wall_ns", "Wall time", TABLE_TIME, TABLE_AT(profile, wall_ns) },
#define STATE(field, title, heading, dropped) \
	{ #field "_ns", "  " title, TABLE_TIME, TABLE_AT(profile, split.field##_ns) },
#include "base/states.def"
	{ "h2d_bytes", "H2D copies", TABLE_BYTES },
	{ "h2d_bytes_per_s", "  GB/s", TABLE_RATE },
	{ "h2d_at_call_bytes_per_s", "  GB/s, at call", TABLE_RATE },
	{ "d2h_bytes", "D2H copies", TABLE_BYTES },
	{ "d2h_bytes_per_s", "  GB/s", TABLE_RATE },
	{ "d2h_at_call_bytes_per_s", "  GB/s, at call", TABLE_RATE },
	{ "copies", "Copies", TABLE_COUNT },
	{ "pinned_bytes", "From pinned memory", TABLE_BYTES },
	{ "copy_calls_ns", "Blocked in copy calls", TABLE_TIME,
	  TABLE_AT(profile, host.copy_calls_ns) },
	{ "waiting_for_kernels_ns", "  for kernels", TABLE_TIME,
	  TABLE_AT(profile, host.waiting_for_kernels_ns) },
	{ "kernel_runs", "Kernel runs", TABLE_COUNT },
	{ "kernel_busy_ns", "  Total time", TABLE_TIME, TABLE_AT(profile, kernel_runs.busy_ns) },
	{ "h2d_copies", NULL, TABLE_COUNT },
	{ "h2d_ns", NULL, TABLE_TIME },
	{ "d2h_copies", NULL, TABLE_COUNT },
	{ "d2h_ns", NULL, TABLE_TIME },
	{ "waits_ns", NULL, TABLE_TIME, TABLE_AT(profile, host.waits_ns) },
	{ "saved_ns", NULL, TABLE_TIME, TABLE_AT(profile, effect.saved_ns) },
};

/* Only synchronous calls count: the time of an asynchronous call is not that of its copy. */
static struct table_cell rate_at_call(const struct profile *profile, const char *direction)
{
	const struct profile_transfer sum = profile_moved(profile, "hotpin", direction);

	return table_rate(sum.sync_bytes, sum.sync_ns);
}

/* Returns the bytes that CUPTI recorded, or else those that hotpin counted. */
static int64_t pinned_bytes(const struct profile *profile)
{
	return profile->promotion.cupti_pinned_bytes >= 0
		       ? profile->promotion.cupti_pinned_bytes
		       : profile_add(profile->promotion.promoted_bytes,
				     profile->promotion.program_pinned_bytes);
}

static void fill_summary(struct table_rows *rows, struct profile *profile)
{
	const char *view = profile_view(profile);
	const struct profile_transfer up = profile_moved(profile, view, "h2d"),
				      down = profile_moved(profile, view, "d2h");
	bool device = strcmp(view, "cupti") == 0;

	TABLE_ROW(rows, profile, table_number(up.bytes),
		  table_rate(device ? up.bytes : UNKNOWN, up.busy_ns), rate_at_call(profile, "h2d"),
		  table_number(down.bytes), table_rate(device ? down.bytes : UNKNOWN, down.busy_ns),
		  rate_at_call(profile, "d2h"), table_number(profile_add(up.count, down.count)),
		  table_number(pinned_bytes(profile)),
		  table_number(profile->kernel_runs.count >= 0 ? profile->kernel_runs.count
							       : profile->host.launches),
		  table_number(up.count), table_number(profile_moved_ns(&up)),
		  table_number(down.count), table_number(profile_moved_ns(&down)));
}

static void say_deferred(struct table_rows *rows, const struct profile_effect *did)
{
	table_say(rows, "Deferred %s%s%s.", text_several(did->deferred_copies, "copy", "copies"),
		  text_if(did->waits_removed > 0, ", which removed %s",
			  text_several(did->waits_removed, "wait", "waits")),
		  text_if(did->ahead_ns > 0, "; the host continued for about %s",
			  text_time(did->ahead_ns)));
}

static void say_pins(struct table_rows *rows, const struct profile_effect *did)
{
	table_say(rows, "Pinned %s%s%s%s.", text_several(did->pins, "time", "times"),
		  text_if(did->unpins > 0, ", unpinned %s",
			  text_several(did->unpins, "time", "times")),
		  text_if(did->spent_ns > 0, "; that took %s", text_time(did->spent_ns)),
		  text_if(did->saved_ns > 0, "%s saved about %s",
			  did->spent_ns > 0 ? " and" : "; that", text_time(did->saved_ns)));
}

/* Only sentences: actions that did not occur, or that the profile does not record, have none. */
static void fill_did(struct table_rows *rows, struct profile *profile)
{
	const struct profile_effect *did = &profile->effect;

	if (did->promoted_copies > 0)
		table_say(rows, "Copied %s (%s) from or to buffers that it had pinned.",
			  text_several(did->promoted_copies, "time", "times"),
			  text_bytes(did->promoted_bytes));
	if (did->staged_copies > 0)
		table_say(rows, "Staged %s (%s).",
			  text_several(did->staged_copies, "copy", "copies"),
			  text_bytes(did->staged_bytes));
	if (did->deferred_copies > 0)
		say_deferred(rows, did);
	if (did->pins > 0)
		say_pins(rows, did);
	if (did->promoted_copies > 0 && profile->promotion.cupti_pinned_bytes > 0)
		table_say(rows, "CUPTI saw copies of %s from or to pinned memory.",
			  text_bytes(profile->promotion.cupti_pinned_bytes));
}

/* clang-format off */
const struct table table_states = { "states", NULL, "where the time went", TABLE_FILL(state), .in_order = true };
const struct table table_advice = { "advice", NULL, "the suggestions", TABLE_FILL(advice), .in_order = true, .most = 3 };
const struct table table_summary = { "summary", NULL, "a row for each FILE", TABLE_FILL(summary) };
const struct table table_counters = { "counters", "Counters", "counters of the library", TABLE_FILL(counter), .elsewhere = true };
const struct table table_options = { "options", "Options", "options of the library", TABLE_FILL(option), .elsewhere = true };
const struct table table_did = { .title = "What hotpin did", .fill = fill_did, .of_device = true, .elsewhere = true };

const struct table *const tables[] = {
	&table_summary,
	&table_states,
	&table_advice,
	&table_copies,
	&table_sizes,
	&(const struct table){ "kernels", "Kernels", "kernels by name", TABLE_FILL(kernel), .of_device = true },
	&(const struct table){ "launches", "Launch sites", "kernel time by place of launch", TABLE_FILL(launch) },
	&(const struct table){ "calls", "CUDA API", "driver calls", TABLE_FILL(call), .of_device = true },
	&table_gaps,
	&table_sites,
	&table_buffers,
	&table_pinned,
	&table_wrong,
	&table_repeats,
	&table_did,
	&table_python,
	&table_functions,
	&table_lines,
	&(const struct table){ "ranges", "NVTX ranges", "NVTX ranges", TABLE_FILL(range) },
	&table_counters,
	&table_options,
	NULL
};
/* clang-format on */
