/*
 * annotated_source.c - pairs the lines of a source file with their figures.
 */
#include "show/annotated_source.h"
#include "analyze/host_code.h"
#include "system/messages.h"
#include "names/names.h"
#include "profile/texts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CONTEXT   3 /* lines before and after each line that matters */
#define LINE_ROOM 4000

const char *const annotate_headings[ANNOTATE_COLUMNS] = { "copies",   "bytes",   "at call",
							  "launches", "kernels", "host" };

static bool has_kernels(const struct profile *profile)
{
	for (size_t i = 0; i < profile->launch_count; i++)
		if (profile->launches[i].device_ns >= 0)
			return true;
	return false;
}

bool annotate_has(const struct profile *profile, enum annotate_column column)
{
	return column == ANNOTATE_HOST       ? lines_has_host(profile)
	       : column == ANNOTATE_KERNELS  ? has_kernels(profile)
	       : column == ANNOTATE_LAUNCHES ? profile->launch_count > 0
					     : profile->site_count > 0;
}

void annotate_add_folder(struct source_where *where, const char *folder)
{
	struct stat status;
	int error = stat(folder, &status) < 0 ? errno : S_ISDIR(status.st_mode) ? 0 : ENOTDIR;

	where->folders[where->folder_count++] = folder;
	if (error != 0)
		hotpin_say("--source %s: cannot be searched (%s); name an existing folder",
			   text_name(folder, 200), strerror(error));
}

/* Marks the sum as an estimate if more than a hundredth of it is one. */
static const char *kernels_figure(const struct line_sum *sum)
{
	char text[64];

	snprintf(text, sizeof(text), "%s%s", sum->estimated_ns > sum->device_ns / 100 ? "~" : "",
		 text_time(sum->device_ns));
	return text_name(text, sizeof(text));
}

const char *annotate_figure(const struct profile *profile, const struct line_sum *sum,
			    enum annotate_column column)
{
	switch (column) {
	case ANNOTATE_COPIES:
		return sum->copies == 0 ? "" : text_count(sum->copies);
	case ANNOTATE_BYTES:
		return sum->copies == 0 ? "" : text_bytes(sum->bytes);
	case ANNOTATE_AT_CALL:
		return sum->copies == 0 ? "" : text_time(sum->call_ns);
	case ANNOTATE_LAUNCHES:
		return sum->launches == 0 ? "" : text_count(sum->launches);
	case ANNOTATE_KERNELS:
		return sum->launches == 0 ? "" : kernels_figure(sum);
	default:
		return sum->samples == 0 ? "" : text_time(host_code_ns(profile, sum->samples));
	}
}

/* Returns the line with its tabs expanded, cut at `room`. */
static const char *expanded(const char *line, size_t bytes, char *ret, size_t room)
{
	size_t used = 0, column = 0;

	if (bytes > 0 && line[bytes - 1] == '\r')
		bytes--;
	for (size_t i = 0; i < bytes && used + 9 < room; i++) {
		if (line[i] == '\t') {
			do
				ret[used++] = ' ';
			while (++column % 8 != 0);
		} else if (line[i] == '\0') {
			memcpy(ret + used, "\\x00", 4);
			used += 4;
			column += 4;
		} else {
			ret[used++] = line[i];
			column += ((unsigned char)line[i] & 0xc0) != 0x80;
		}
	}
	while (used > 0 && ret[used - 1] == ' ')
		used--;
	ret[used] = '\0';
	return ret;
}

/*
 * True for a line with a hundredth of the file's time or of its kernels' time, with a twentieth of
 * its samples, or with the most time of any line.
 */
static bool matters(const struct profile *profile, const struct line_file *file,
		    const struct line_row *row, int64_t most_ns)
{
	int64_t ns = lines_ns(profile, &row->sum);

	return ns == most_ns || ns > lines_ns(profile, &file->sum) / 100 ||
	       row->sum.samples > file->sum.samples / 20 ||
	       row->sum.device_ns > file->sum.device_ns / 100;
}

/* Returns all rows with figures, or only those that matter. */
static const struct line_row **rows_of(struct profile *profile, const struct line_file *file,
				       bool all, size_t *ret_count)
{
	const struct line_row **rows = profile_allocate(profile, file->count, sizeof(*rows));

	int64_t most_ns = 0;

	*ret_count = 0;
	for (size_t i = 0; i < file->count; i++) {
		int64_t ns = lines_ns(profile, &file->rows[i].sum);

		most_ns = ns > most_ns ? ns : most_ns;
	}
	for (size_t i = 0; i < file->count; i++)
		if (all || matters(profile, file, &file->rows[i], most_ns))
			rows[(*ret_count)++] = &file->rows[i];
	return rows;
}

/* Returns a program or library that is older than its source; NULL if there is none. */
static const char *older_module(const struct profile *profile, const struct line_file *file,
				const struct source *source)
{
	for (size_t i = 0; i < file->count; i++) {
		int64_t module = file->rows[i].frame->module;

		if (module >= 0 && !profile->modules[module].differs &&
		    profile->modules[module].modified > 0 &&
		    profile->modules[module].modified < source->modified)
			return names_module(profile, file->rows[i].frame);
	}
	return NULL;
}

static void add(struct annotate_lines *lines, int64_t number, const struct line_row *row,
		const char *text)
{
	lines->items[lines->count++] = (struct annotate_line){ number, row, text };
}

/* Reads the whole source, or the lines around the rows.  Returns the number of the last line. */
static int64_t read_source(struct profile *profile, const struct source *source, bool all,
			   const struct line_row *const *rows, size_t count,
			   struct annotate_lines *ret)
{
	int64_t number = 0;
	size_t at = 0, next = 0, bytes;
	const char *line;
	char text[LINE_ROOM];

	while (source_next_line(source, &at, &line, &bytes)) {
		number++;
		while (next < count && rows[next]->number + CONTEXT < number)
			next++;
		if (!all && (next == count || rows[next]->number - CONTEXT > number))
			continue;
		const struct line_row *row = NULL;
		for (size_t i = next; i < count && rows[i]->number <= number; i++)
			if (rows[i]->number == number)
				row = rows[i];
		add(ret, number, row,
		    profile_copy(profile, expanded(line, bytes, text, sizeof(text))));
	}
	return number;
}

static size_t lines_in(const struct source *source)
{
	size_t at = 0, bytes, count = 0;
	const char *line;

	while (source_next_line(source, &at, &line, &bytes))
		count++;
	return count;
}

/* Returns what the profile has to prove that a file is this source. */
static struct source_claim claim_of(struct profile *profile, const struct line_file *file)
{
	struct source_claim claim = { .compiled = file->path,
				      .is_verified = file->is_verified,
				      .bytes = UNKNOWN,
				      .modified_ns = UNKNOWN };

	for (size_t i = 0; i < profile->python_file_count; i++) {
		const struct profile_python_file *known = &profile->python_files[i];

		if (strcmp(lines_path(profile, known->file), file->path) != 0)
			continue;
		claim.bytes = known->bytes;
		claim.modified_ns = known->modified_ns;
		break;
	}
	return claim;
}

void annotate_lines_read(struct profile *profile, const struct line_file *file,
			 const struct source_where *where, struct annotate_lines *ret)
{
	struct source source;
	size_t count, next = 0;
	const struct line_row **rows = rows_of(profile, file, where->file != NULL, &count);
	int64_t end = 0;

	struct source_claim claim = claim_of(profile, file);

	*ret = (struct annotate_lines){ .last = rows[count - 1]->number };
	ret->why = source_open(&claim, where, &source);
	size_t most = count + (ret->why == NULL ? lines_in(&source) : 0);
	ret->items = profile_allocate(profile, most, sizeof(*ret->items));
	if (ret->why == NULL) {
		end = read_source(profile, &source, where->file != NULL, rows, count, ret);
		ret->path = profile_copy(profile, source.path);
		ret->older = older_module(profile, file, &source);
	}
	while (next < count && rows[next]->number <= end)
		next++;
	ret->is_cut = ret->why == NULL && next < count;
	for (; next < count; next++)
		add(ret, rows[next]->number, rows[next], NULL);
	source_close(&source);
}
