/*
 * emit_lists.c - the lists of the profile: files, and the calls in them that copied.
 */
#include "trace/json.h"
#include "trace/report.h"
#include "trace/sites.h"

static void add_frames(struct json *json, const struct module_place *frame, size_t depth)
{
	json_open(json, "frames", "[");
	for (size_t i = 0; i < depth; i++) {
		json_open(json, NULL, "{");
		json_known(json, "module", frame[i].module != MODULES_NOWHERE, frame[i].module);
		json_number(json, "offset", frame[i].offset);
		json_close(json, "}");
	}
	json_close(json, "]");
}

static void add_modules(struct json *json)
{
	size_t count = modules_count();

	json_open(json, "modules", "[");
	for (size_t i = 0; i < count; i++) {
		struct module module;

		modules_read(i, &module);
		json_open(json, NULL, "{");
		json_words(json, "path", module.path);
		json_text(json, "build_id", module.build_id);
		json_close(json, "}");
	}
	json_close(json, "]");
}

static void add_site(struct json *json, const struct site *site)
{
	json_open(json, NULL, "{");
	add_frames(json, site->frame, site->depth);
	json_open(json, "rows", "[");
	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++) {
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			const struct sites_row *row = &site->row[direction][memory];

			if (row->count == 0)
				continue;
			json_open(json, NULL, "{");
			json_text(json, "direction", report_directions[direction]);
			json_text(json, "memory", report_host_memories[memory]);
			json_number(json, "count", row->count);
			json_number(json, "bytes", row->bytes);
			json_number(json, "host_ns", row->host_ns);
			json_number(json, "sync_count", row->sync_count);
			json_number(json, "sync_ns", row->sync_ns);
			json_close(json, "}");
		}
	}
	json_close(json, "]");
	json_close(json, "}");
}

static void add_sites(const struct report *report, struct json *json)
{
	uint64_t lost = 0;
	size_t count = report->sites ? sites_count(&lost) : 0;

	if (report->sites)
		json_open(json, "sites", "[");
	else
		json_null(json, "sites");
	for (size_t i = 0; i < count; i++) {
		struct site site;

		sites_read(i, &site);
		add_site(json, &site);
	}
	if (report->sites)
		json_close(json, "]");
	json_number(json, "sites_lost", lost);
}

void report_json_lists(const struct report *report, struct json *json)
{
	/* Modules are told of after all that points into them, and read before it. */
	add_sites(report, json);
	add_modules(json);
}
