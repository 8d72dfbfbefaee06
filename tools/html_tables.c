/*
 * html_tables.c - lists of a profile as tables of a page.
 */
#include "html.h"
#include "order.h"
#include "page.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>

static void kernels(FILE *to, const struct profile *profile, bool opened)
{
	static const char *const columns[] = { "<kernels", "runs", "time", "longest", "share" };

	if (profile->kernel_count == 0)
		return;
	const struct profile_kernel **sorted = order_kernels(profile);
	page_part(to, opened, "kernels");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->kernel_count && i < PAGE_ROWS_MOST; i++) {
		const struct profile_kernel *kernel = sorted[i];

		page_table_fold(to, columns, HP_LEN(columns), i, profile->kernel_count);
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){
				 show_text(kernel->readable, 300), show_count(kernel->count),
				 show_time(kernel->busy_ns), show_time(kernel->longest_ns),
				 show_share(kernel->busy_ns, profile->kernel_runs.busy_ns) });
	}
	page_table_close(to, profile->kernel_count);
	page_part_end(to, opened);
}

static void stages(FILE *to, const struct profile *profile, bool opened)
{
	const char *columns[3 + SHOW_PARTS] = { "<range (NVTX)", "entered", "wall" };

	if (profile->stage_count == 0)
		return;
	for (int part = 0; part < SHOW_PARTS; part++)
		columns[3 + part] = show_parts[part].heading;
	page_part(to, opened, "ranges");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->stage_count && i < PAGE_ROWS_MOST; i++) {
		const struct profile_stage *stage = &profile->stages[i];

		page_table_fold(to, columns, HP_LEN(columns), i, profile->stage_count);
		const char *cells[HP_LEN(columns)] = { show_text(stage->name, 200),
						       show_count(stage->entered),
						       show_time(stage->wall_ns) };

		for (int part = 0; part < SHOW_PARTS; part++)
			cells[3 + part] = show_time(show_part_ns(&stage->split, part));
		page_row(to, columns, HP_LEN(columns), cells);
	}
	page_table_close(to, profile->stage_count);
	page_part_end(to, opened);
}

/* Returns "start up" for "start_up". */
static const char *class_of(const struct profile_call *call, char *ret, size_t room)
{
	snprintf(ret, room, "%s", show_text(call->class, 20));
	for (char *at = ret; *at != '\0'; at++)
		*at = *at == '_' ? ' ' : *at;
	return ret;
}

static void calls(FILE *to, const struct profile *profile, bool opened)
{
	static const char *const columns[] = { "<CUDA call", "<kind",   "calls",  "total",
					       "mean",       "longest", "of wall" };
	char class[SHOW_BYTES(20)];

	if (profile->call_count == 0)
		return;
	const struct profile_call **sorted = order_calls(profile);
	page_part(to, opened, "calls");
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->call_count && i < PAGE_ROWS_MOST; i++) {
		const struct profile_call *call = sorted[i];

		page_table_fold(to, columns, HP_LEN(columns), i, profile->call_count);
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ show_text(call->name, 80),
					   class_of(call, class, sizeof(class)),
					   show_count(call->count), show_time(call->total_ns),
					   show_time(call->count > 0 ? call->total_ns / call->count
								     : UNKNOWN),
					   show_time(call->longest_ns),
					   show_share(call->total_ns, profile->wall_ns) });
	}
	page_table_close(to, profile->call_count);
	page_part_end(to, opened);
}

void html_tables(FILE *to, const struct profile *profile, bool opened)
{
	if (!profile_used_no_device(profile)) {
		html_copies(to, profile, opened);
		html_buffers(to, profile, opened);
		kernels(to, profile, opened);
		calls(to, profile, opened);
	}
	stages(to, profile, opened);
}
