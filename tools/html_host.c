/*
 * html_host.c - host code: the time of functions, and of the gaps between CUDA calls.
 */
#include "html.h"
#include "host_code.h"
#include "names.h"
#include "order.h"
#include "page.h"
#include "python_lines.h"
#include "show.h"
#include "base/parse.h"

#include <stdio.h>
#include <string.h>

#define FUNCTIONS_MOST 15

static void function_row(FILE *to, const char *const *columns, size_t column_count,
			 const struct profile *profile, const struct host_code *code,
			 const struct host_function *function)
{
	char name[512], caller[512] = "", id[PAGE_ID] = "";

	html_source_anchor(function->line, id, sizeof(id));
	host_code_name(profile, function->line != NULL ? function->line : function->frame, name,
		       sizeof(name), 120);
	if (function->caller != NULL)
		host_code_name(profile, function->caller, caller, sizeof(caller), 80);
	page_row_of(to, columns, column_count,
		    (const char *[]){
			    show_text(name, 200), show_time(host_code_ns(profile, function->self)),
			    show_time(host_code_ns(profile, function->total)),
			    show_share(function->self, code->all), show_text(caller, 200) },
		    UNKNOWN, id);
}

static void functions(FILE *to, struct profile *profile)
{
	static const char *const columns[] = { "<function", "self", "total", "share",
					       "<called from (likely)" };
	struct host_code code;
	char text[200];

	host_code_sum(profile, &code);
	page_table_begin(to, columns, HP_LEN(columns));
	size_t shown = code.own_count < FUNCTIONS_MOST ? code.own_count : FUNCTIONS_MOST;
	for (size_t i = 0; i < shown; i++) {
		host_code_look_closer(&code, code.order[i]);
		function_row(to, columns, HP_LEN(columns), profile, &code, code.order[i]);
	}
	page_table_end(to);
	snprintf(text, sizeof(text), "CPU time in user space, by %s samples at %s a second%s.",
		 show_count(code.all), show_count(profile->sampling.hz),
		 code.function_count > shown ? "; hotpin report --all has all functions" : "");
	page_element(to, "p class=\"soft\"", text);
}

void html_python(FILE *to, const struct profile *profile, bool opened)
{
	static const char *const columns[] = { "<line of Python", "CPU time", "share" };
	struct python_line *lines;
	int64_t all_ns;
	size_t count = python_lines(profile, &lines, &all_ns);

	if (count == 0)
		return;
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < count && i < FUNCTIONS_MOST; i++) {
		char id[PAGE_ID] = "";

		if (opened)
			html_source_anchor(lines[i].frame, id, sizeof(id));
		page_row_of(to, columns, HP_LEN(columns),
			    (const char *[]){ python_line_name(profile, &lines[i], 120),
					      show_time(lines[i].cpu_ns),
					      show_share(lines[i].cpu_ns, all_ns) },
			    UNKNOWN, id);
	}
	page_table_end(to);
	page_element(to, "p class=\"soft\"",
		     "CPU time of threads that use CUDA, with the calls of each line.");
}

static void samples(FILE *to, struct profile *profile)
{
	char text[SHOW_BYTES(200) + 40];

	html_python(to, profile, true);
	if (profile->sample_count > 0) {
		html_icicle(to, profile);
		functions(to, profile);
	} else if (profile->sampling.why != NULL) {
		snprintf(text, sizeof(text), "Host code was not sampled: %s.",
			 show_text(profile->sampling.why, 200));
		page_element(to, "p class=\"note\"", text);
	}
}

/* Writes "main() at heat.c:43 (cuMemcpyDtoH_v2)", or `none`. */
static const char *gap_end(const struct profile *profile, const struct profile_gap_end *end,
			   const char *none, char *ret, size_t room)
{
	if (end->call == NULL)
		return none;
	html_place(profile, &end->frames, false, ret, room);
	size_t used = strlen(ret);
	snprintf(ret + used, room - used, " (%s)", show_text(end->call, 40));
	return ret;
}

static void gaps(FILE *to, const struct profile *profile)
{
	static const char *const columns[] = { "<host code from", "<to",     "times",
					       "total",           "longest", "of wall" };
	char from[1024], after[1024];

	if (profile->gap_count == 0)
		return;
	const struct profile_gap **sorted = order_gaps(profile);
	page_table_begin(to, columns, HP_LEN(columns));
	for (size_t i = 0; i < profile->gap_count && i < PAGE_ROWS_MOST; i++) {
		const struct profile_gap *gap = sorted[i];

		page_table_fold(to, columns, HP_LEN(columns), i, profile->gap_count);
		page_row(to, columns, HP_LEN(columns),
			 (const char *[]){ gap_end(profile, &gap->before,
						   "the start of the process", from, sizeof(from)),
					   gap_end(profile, &gap->after, "the end of the process",
						   after, sizeof(after)),
					   show_count(gap->count), show_time(gap->total_ns),
					   show_time(gap->longest_ns),
					   show_share(gap->total_ns, profile->wall_ns) });
	}
	page_table_close(to, profile->gap_count);
}

void html_host(FILE *to, struct profile *profile)
{
	bool is_sampled = profile->sample_count > 0 || profile->python_count > 0 ||
			  (profile->sampling.why != NULL && !profile_used_no_device(profile));

	if (!is_sampled && profile->gap_count == 0)
		return;
	page_section(to, "host", NULL);
	samples(to, profile);
	gaps(to, profile);
	page_section_end(to);
}
