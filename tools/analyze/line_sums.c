/*
 * line_sums.c - sums up copies, launches and samples by source line.
 *
 * Each counts for the innermost line that belongs neither to CUDA nor to the C library.  So
 * memcpy() counts for the line that calls it.
 */
#include "analyze/line_sums.h"
#include "analyze/host_code.h"
#include "names/names.h"
#include "names/paths.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	const char *path;
	const struct profile_frame *frame;
	struct line_sum sum;
};

static void add(struct line_sum *to, const struct line_sum *sum)
{
	to->copies = profile_add(to->copies, sum->copies);
	to->bytes = profile_add(to->bytes, sum->bytes);
	to->call_ns = profile_add(to->call_ns, sum->call_ns);
	to->samples = profile_add(to->samples, sum->samples);
	to->launches = profile_add(to->launches, sum->launches);
	to->launch_ns = profile_add(to->launch_ns, sum->launch_ns);
	to->device_ns = profile_add(to->device_ns, sum->device_ns);
	to->estimated_ns = profile_add(to->estimated_ns, sum->estimated_ns);
}

const char *lines_path(struct profile *profile, const char *path)
{
	/* paths_normalize() appends a slash before it removes one. */
	char *copy = profile_allocate(profile, strlen(path) + 2, 1);

	strcpy(copy, path);
	paths_normalize(copy);
	return copy;
}

/* True if the Python lines are known: they include the interpreter's CPU time. */
static bool is_python_already(const struct profile *profile, const struct profile_frames *frames,
			      const struct profile_frame *line)
{
	const struct profile_frame *frame =
		line == NULL && frames->count > 0 ? frames->items : line;

	return profile->python_count > 0 && frame != NULL && names_is_interpreter(profile, frame);
}

/* Counts for the line of these frames, or as without a line. */
static void count_at(struct profile *profile, const struct profile_frames *frames, bool sampled,
		     const struct line_sum *sum, struct line_table *table, struct entry **next)
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
		*(*next)++ = (struct entry){ lines_path(profile, frame->path), frame, *sum };
}

static int by_line(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = strcmp(a->path, b->path);

	if (order != 0)
		return order;
	return (a->frame->number > b->frame->number) - (a->frame->number < b->frame->number);
}

int64_t lines_ns(const struct profile *profile, const struct line_sum *sum)
{
	int64_t host_ns = host_code_ns(profile, sum->samples);

	int64_t calls_ns = profile_add(sum->call_ns > 0 ? sum->call_ns : 0,
				       sum->launch_ns > 0 ? sum->launch_ns : 0);

	return profile_add(calls_ns, host_ns > 0 ? host_ns : 0);
}

/* Python names code without a file, such as "<frozen importlib._bootstrap>". */
static bool is_file(const struct line_file *file)
{
	return file->path[0] != '<';
}

static int by_time(const void *left, const void *right, void *profile)
{
	const struct line_file *a = left, *b = right;
	int64_t a_ns = lines_ns(profile, &a->sum), b_ns = lines_ns(profile, &b->sum);

	if (is_file(a) != is_file(b))
		return is_file(a) ? -1 : 1;
	if (a_ns != b_ns)
		return a_ns > b_ns ? -1 : 1;
	return strcmp(a->path, b->path);
}

static void fold(struct profile *profile, const struct entry *entries, size_t count,
		 struct line_table *table)
{
	struct line_row *row = profile_allocate(profile, count, sizeof(*row));

	table->files = profile_allocate(profile, count, sizeof(*table->files));
	for (size_t i = 0; i < count; i++) {
		const struct entry *entry = &entries[i];
		bool new_file = i == 0 || strcmp(entry->path, entries[i - 1].path) != 0;

		if (new_file)
			table->files[table->count++] =
				(struct line_file){ .path = entry->path, .rows = row };
		struct line_file *file = &table->files[table->count - 1];
		if (new_file || entry->frame->number != entries[i - 1].frame->number) {
			*row++ = (struct line_row){ .number = entry->frame->number,
						    .frame = entry->frame };
			file->count++;
		}
		file->is_verified |= entry->frame->is_verified;
		add(&row[-1].sum, &entry->sum);
		add(&file->sum, &entry->sum);
	}
}

bool lines_has_host(const struct profile *profile)
{
	return profile->sample_count > 0 || profile->python_count > 0;
}

/* Returns the number of samples that the kernel takes in that CPU time. */
static int64_t samples_in(const struct profile *profile, int64_t cpu_ns)
{
	__int128_t samples = ((__int128_t)cpu_ns * profile->sampling.hz + 500000000) / 1000000000;

	return cpu_ns > 0 && profile->sampling.hz > 0 && samples < INT64_MAX ? (int64_t)samples : 0;
}

void lines_sum(struct profile *profile, struct line_table *ret)
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
}
