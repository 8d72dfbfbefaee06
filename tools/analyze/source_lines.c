/*
 * source_lines.c - sums up copies, launches and samples by source line, and pairs the sums with the
 * text of the source.
 *
 * Each counts for the innermost line that belongs neither to CUDA nor to the C library.  So
 * memcpy() counts for the line that calls it.
 */
#include "analyze/source_lines.h"
#include "analyze/host_code.h"
#include "names/names.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONTEXT   3 /* lines before and after each line that matters */
#define LINE_ROOM 4000
#define MAIN_MOST 5

struct entry {
	const char *path;
	const struct profile_frame *frame;
	struct line_sum sum;
};

static void add(struct line_sum *to, const struct line_sum *sum)
{
	int64_t *numbers = (int64_t *)to;

	/* All of its fields are numbers. */
	for (size_t i = 0; i < sizeof(*sum) / sizeof(*numbers); i++)
		numbers[i] = profile_add(numbers[i], ((const int64_t *)sum)[i]);
}

/* True if the Python lines are known: they include the interpreter's CPU time. */
static bool is_python_already(const struct profile *profile, const struct profile_frames *frames,
			      const struct profile_frame *line)
{
	const struct profile_frame *frame =
		line == NULL && frames->count > 0 ? frames->items : line;

	return profile->python_count > 0 && frame != NULL &&
	       names_code(profile, frame) == NAMES_INTERPRETER;
}

/* Counts for the line of these frames, or as without a line. */
static void count_at(struct profile *profile, const struct profile_frames *frames, bool sampled,
		     const struct line_sum *sum, struct source_lines *table, struct entry **next)
{
	bool in_cuda;
	const struct profile_frame *frame = names_source_frame(profile, frames, &in_cuda);

	if (sampled && in_cuda)
		table->cuda_samples = profile_add(table->cuda_samples, sum->samples);
	else if (sampled && is_python_already(profile, frames, frame))
		return;
	else if (frame == NULL)
		add(&table->placeless, sum);
	else
		*(*next)++ = (struct entry){ paths_normal(frame->path), frame, *sum };
}

static int by_line(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;

	return strcmp(a->path, b->path) ?: sorted_numbers(a->frame->number, b->frame->number);
}

int64_t source_lines_ns(const struct profile *profile, const struct line_sum *sum)
{
	int64_t host_ns = host_code_ns(profile, sum->samples);

	int64_t calls_ns = profile_add(sum->call_ns > 0 ? sum->call_ns : 0,
				       sum->launch_ns > 0 ? sum->launch_ns : 0);

	return profile_add(calls_ns, host_ns > 0 ? host_ns : 0);
}

/* Python names code without a file, such as "<frozen importlib._bootstrap>". */
static bool is_file(const struct source_file *file)
{
	return file->path[0] != '<';
}

static int by_time(const void *left, const void *right, void *profile)
{
	const struct source_file *a = left, *b = right;
	int64_t a_ns = source_lines_ns(profile, &a->sum), b_ns = source_lines_ns(profile, &b->sum);

	return is_file(b) - is_file(a) ?: sorted_numbers(b_ns, a_ns) ?: strcmp(a->path, b->path);
}

static void fold(struct profile *profile, const struct entry *entries, size_t count,
		 struct source_lines *table)
{
	struct source_line *line = profile_allocate(profile, count, sizeof(*line));

	table->files = profile_allocate(profile, count, sizeof(*table->files));
	for (size_t i = 0; i < count; i++) {
		const struct entry *entry = &entries[i];
		bool new_file = i == 0 || strcmp(entry->path, entries[i - 1].path) != 0;

		if (new_file)
			table->files[table->count++] =
				(struct source_file){ .path = entry->path, .lines = line };
		struct source_file *file = &table->files[table->count - 1];
		if (new_file || entry->frame->number != entries[i - 1].frame->number) {
			*line++ = (struct source_line){ .number = entry->frame->number,
							.frame = entry->frame };
			file->count++;
		}
		file->is_verified |= entry->frame->is_verified;
		add(&line[-1].sum, &entry->sum);
		add(&file->sum, &entry->sum);
	}
}

bool source_lines_have_host(const struct profile *profile)
{
	return profile->sample_count > 0 || profile->python_count > 0;
}

/* Returns the number of samples that the kernel takes in that CPU time. */
static int64_t samples_in(const struct profile *profile, int64_t cpu_ns)
{
	__int128_t samples = ((__int128_t)cpu_ns * profile->sampling.hz + 500000000) / 1000000000;

	return cpu_ns > 0 && profile->sampling.hz > 0 && samples < INT64_MAX ? (int64_t)samples : 0;
}

void source_lines_sum(struct profile *profile, struct source_lines *ret)
{
	size_t most = profile->site_count + profile->launch_count + profile->sample_count +
		      profile->python_count;
	struct entry *entries = profile_allocate(profile, most, sizeof(*entries));
	struct entry *next = entries;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < profile->site_count; i++) {
		const struct profile_site *site = &profile->sites[i];
		struct line_sum sum = { 0 };

		for (size_t j = 0; j < site->row_count; j++)
			add(&sum, &(struct line_sum){ .copies = site->rows[j].count,
						      .bytes = site->rows[j].bytes,
						      .call_ns = site->rows[j].host_ns });
		count_at(profile, &site->frames, false, &sum, ret, &next);
	}
	for (size_t i = 0; i < profile->launch_count; i++) {
		const struct profile_launch *launch = &profile->launches[i];
		struct line_sum sum = { .launches = launch->count,
					.launch_ns = launch->host_ns,
					.device_ns = launch->device_ns,
					.estimated_ns = launch->estimated_ns };

		count_at(profile, &launch->frames, false, &sum, ret, &next);
	}
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		struct line_sum sum = { .samples = host_code_samples(sample) };

		count_at(profile, &sample->frames, true, &sum, ret, &next);
	}
	for (size_t i = 0; i < profile->python_count; i++) {
		const struct profile_python *row = &profile->python[i];
		struct line_sum sum = { .samples = samples_in(profile, row->cpu_ns) };

		count_at(profile, &row->frames, false, &sum, ret, &next);
	}
	qsort(entries, (size_t)(next - entries), sizeof(*entries), by_line);
	fold(profile, entries, (size_t)(next - entries), ret);
	qsort_r(ret->files, ret->count, sizeof(*ret->files), by_time, profile);
	/* Not the files below a hundredth of the first one's time. */
	while (ret->main_count < ret->count && ret->main_count < MAIN_MOST &&
	       source_lines_ns(profile, &ret->files[ret->main_count].sum) >=
		       source_lines_ns(profile, &ret->files[0].sum) / 100)
		ret->main_count++;
}

/*
 * Leaves the lines with a hundredth of the file's time or of its kernels' time, with a twentieth of
 * its samples, or with the most time of any line.
 */
static void drop_others(const struct profile *profile, struct source_file *file)
{
	const int64_t all_ns = source_lines_ns(profile, &file->sum);
	int64_t most_ns = 0;
	size_t kept = 0;

	for (size_t i = 0; i < file->count; i++) {
		int64_t ns = source_lines_ns(profile, &file->lines[i].sum);

		most_ns = ns > most_ns ? ns : most_ns;
	}
	for (size_t i = 0; i < file->count; i++) {
		const struct line_sum *sum = &file->lines[i].sum;
		int64_t ns = source_lines_ns(profile, sum);

		if (ns == most_ns || ns > all_ns / 100 || sum->samples > file->sum.samples / 20 ||
		    sum->device_ns > file->sum.device_ns / 100)
			file->lines[kept++] = file->lines[i];
	}
	file->count = kept;
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

/* Returns a program or library that is older than its source; NULL if there is none. */
static const char *older_module(const struct profile *profile, const struct source_file *file,
				const struct source *source)
{
	for (size_t i = 0; i < file->count; i++) {
		const struct profile_frame *frame = file->lines[i].frame;
		const struct profile_module *module =
			frame->module >= 0 ? &profile->modules[frame->module] : NULL;

		if (module != NULL && !module->differs && module->modified > 0 &&
		    module->modified < source->modified)
			return names_module(profile, frame);
	}
	return NULL;
}

static size_t lines_in(const struct source *source)
{
	size_t at = 0, bytes, count = 0;
	const char *line;

	while (source_next_line(source, &at, &line, &bytes))
		count++;
	return count;
}

/* Adds the text of the lines, and the lines around them. */
static void add_text(struct profile *profile, const struct source *source, struct source_file *file)
{
	const struct source_line *first = file->lines, *end = first + file->count, *next = first;
	struct source_line *to =
		profile_allocate(profile, file->count + lines_in(source), sizeof(*to));
	size_t at = 0, bytes;
	const char *line;
	char text[LINE_ROOM];

	file->lines = to;
	for (int64_t number = 1; source_next_line(source, &at, &line, &bytes); number++) {
		while (next < end && next->number < number)
			next++;
		if ((next == end || next->number - CONTEXT > number) &&
		    (next == first || next[-1].number + CONTEXT < number))
			continue;
		*to = next < end && next->number == number
			      ? *next
			      : (struct source_line){ .number = number };
		to++->text = text_made("%s", expanded(line, bytes, text, sizeof(text)));
	}
	while (next < end && to > file->lines && next->number <= to[-1].number)
		next++;
	file->is_cut = next < end;
	while (next < end)
		*to++ = *next++;
	file->count = (size_t)(to - file->lines);
}

/* Returns what the profile has to prove that a file is this source. */
static struct source_claim claim_of(struct profile *profile, const struct source_file *file)
{
	struct source_claim claim = { .compiled = file->path,
				      .is_verified = file->is_verified,
				      .bytes = UNKNOWN,
				      .modified_ns = UNKNOWN };

	for (size_t i = 0; i < profile->python_file_count; i++) {
		const struct profile_python_file *known = &profile->python_files[i];

		if (strcmp(paths_normal(known->file), file->path) != 0)
			continue;
		claim.bytes = known->bytes;
		claim.modified_ns = known->modified_ns;
		break;
	}
	return claim;
}

void source_lines_read(struct profile *profile, struct source_file *file,
		       const struct source_where *where)
{
	const struct source_claim claim = claim_of(profile, file);
	struct source source;

	file->why = source_open(&claim, where, &source);
	if (file->why == NULL)
		file->older = older_module(profile, file, &source);
	drop_others(profile, file);
	if (file->why == NULL) {
		file->found = text_made("%s", source.path);
		add_text(profile, &source, file);
	}
	source_close(&source);
}
