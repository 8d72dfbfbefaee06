/*
 * table_csv.c - writes a table as CSV.
 */
#include "show/table_csv.h"
#include "tables/table.h"
#include "profile/texts.h"
#include "base/parse.h"

#include <string.h>

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

static const char *csv_instead(const char *at)
{
	return *at == '"' ? "\"\"" : *at == ';' ? "\\x3b" : NULL;
}

/*
 * An apostrophe precedes a text that a spreadsheet would take for a formula.  Where semicolons
 * separate cells, only the first text of a line counts as quoted, so semicolons are escaped.
 */
static void csv_text(FILE *to, const char *text)
{
	if (text == NULL)
		return;
	fputs(is_formula(text) ? "\"'" : "\"", to);
	text_put(to, text, csv_instead);
	fputc('"', to);
}

static void csv_place(FILE *to, const struct profile *profile, const struct profile_frame *frame)
{
	static const struct profile_frame none = { .module = UNKNOWN, .offset = UNKNOWN };

	frame = frame != NULL ? frame : &none;
	csv_text(to, frame->function);
	fputc(',', to);
	csv_text(to, frame->line);
	fputc(',', to);
	csv_text(to, frame->module >= 0 ? profile->modules[frame->module].path : NULL);
	fputc(',', to);
	if (frame->offset >= 0)
		fprintf(to, "%lld", (long long)frame->offset);
}

static void csv_row(const struct table_rows *rows, const struct table_cell *cells)
{
	const struct profile *profile = rows->profile;

	csv_text(rows->to, profile->path);
	fputc(',', rows->to);
	csv_text(rows->to, profile->stage);
	fputc(',', rows->to);
	csv_text(rows->to, profile->process.rank);
	for (size_t i = 0; i < rows->table->count; i++) {
		const struct table_column *column = &rows->table->columns[i];

		if (column->key == NULL)
			continue;
		fputc(',', rows->to);
		if (column->unit == TABLE_PLACE)
			csv_place(rows->to, profile, cells[i].frame);
		else if (column->unit == TABLE_TEXT)
			csv_text(rows->to, cells[i].text);
		else if (cells[i].value >= 0)
			fprintf(rows->to, "%lld", (long long)table_value(column->unit, &cells[i]));
	}
	fputc('\n', rows->to);
}

void table_csv_head(FILE *to, const struct table *table)
{
	fputs("file,stage,rank", to);
	for (size_t i = 0; i < table->count; i++) {
		const char *key = table->columns[i].key;

		if (key != NULL && table->columns[i].unit == TABLE_PLACE)
			fprintf(to, ",%sfunction,%sline,%smodule,%soffset", key, key, key, key);
		else if (key != NULL)
			fprintf(to, ",%s", key);
	}
	fputc('\n', to);
}

void table_csv(FILE *to, const struct table *table, const struct profile *profile)
{
	struct table_rows rows = { .table = table,
				   .profile = (struct profile *)profile,
				   .form = TABLE_CSV,
				   .detail = TABLE_ALL,
				   .to = to,
				   .write = csv_row };

	table_fill(&rows);
}
