/*
 * test_options.c - the environment is read once, and a typing mistake causes no more than a
 * warning.
 */
#include "base/options.h"
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

static char said[8192];

/* Loads `env`, and stores the messages on stderr in `said`. */
static void load(char *const *env)
{
	int old = dup(STDERR_FILENO), file = memfd_create("stderr", 0);

	dup2(file, STDERR_FILENO);
	hp_options_load(env);
	dup2(old, STDERR_FILENO);
	ssize_t bytes = pread(file, said, sizeof(said) - 1, 0);
	said[bytes > 0 ? bytes : 0] = '\0';
	close(file);
	close(old);
}

#define LOAD(...) load((char *const[]){ __VA_ARGS__, NULL })

static unsigned lines_said(void)
{
	unsigned lines = 0;

	for (const char *at = said; (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	return lines;
}

TEST(values_are_taken)
{
	LOAD("PATH=/bin", "HOTPIN=0", "HOTPIN_HEAP_MIN=2M", "HOTPIN_PROFILE=trace",
	     "HOTPIN_STAGE=3: spmv = gpu", "HOTPIN_OUT=/tmp/%p.json", "HOTPIN_THREADS=4",
	     "HOTPIN_CUPTI=off");
	CHECK(said[0] == '\0');
	CHECK(!hp_options->enable);
	CHECK_EQ(hp_options->heap_min, 2 << 20);
	CHECK_EQ(hp_options->profile, HP_PROFILE_TRACE);
	CHECK(strcmp(hp_options->stage, "3: spmv = gpu") == 0);
	CHECK(strcmp(hp_options->out, "/tmp/%p.json") == 0);
	CHECK_EQ(hp_options->threads, 4);
	CHECK_EQ(hp_options->cupti, HP_CUPTI_OFF);
}

TEST(bad_value_keeps_the_default_and_warns_once)
{
	LOAD("HOTPIN_PIN_BUDGET=banana");
	CHECK_EQ(hp_options->pin_budget, HP_AUTO);
	CHECK_EQ(lines_said(), 1);
	CHECK(strstr(said, "HOTPIN_PIN_BUDGET") != NULL && strstr(said, "banana") != NULL);
	CHECK(strstr(said, "bytes, with K, M, G or T, or auto") != NULL);
	CHECK(strstr(said, "keeping 'auto'") != NULL);
}

TEST(empty_value_is_bad_except_for_texts)
{
	LOAD("HOTPIN_STAGE=", "HOTPIN_PIN=");
	CHECK(hp_options->pin);
	CHECK_EQ(lines_said(), 1);
	CHECK(strstr(said, "HOTPIN_PIN:") != NULL);
}

TEST(overlong_text_is_refused)
{
	char long_out[2 * HP_TEXT_MAX] = "HOTPIN_OUT=";

	memset(long_out + 11, 'x', sizeof(long_out) - 12);
	LOAD(long_out);
	CHECK(hp_options->out[0] == '\0');
	CHECK_EQ(lines_said(), 1);
}

TEST(unknown_names)
{
	LOAD("HOTPIN_SO=x", "HOTPIN_PROFIL=summary", "HOTPIN_=1");
	CHECK_EQ(lines_said(), 3);
	CHECK(strstr(said, "HOTPIN_SO is not an option and does nothing; `hotpin env`") != NULL);
	CHECK_EQ(hp_options->profile, HP_PROFILE_OFF);
}

TEST(names_of_others_are_theirs)
{
	LOAD("HOTPINS=1", "HOTPIN2=1", "XHOTPIN_PIN=0", "hotpin_pin=0", "HOTPIN");
	CHECK(said[0] == '\0');
	CHECK(hp_options->pin);
}

TEST(garbage_survives)
{
	char giant[70000] = "HOTPIN_";

	memset(giant + 7, 'A', sizeof(giant) - 8);
	LOAD(giant, "HOTPIN_", "HOTPIN_=", "HOTPIN_NOEQUALS", "HOTPIN_PIN=\xff\xfe\x01", "=", "");
	CHECK(hp_options->pin);
	CHECK_EQ(lines_said(), 5);
}

TEST(log_level_silences_warnings)
{
	LOAD("HOTPIN_LOG=error", "HOTPIN_PIN=x");
	CHECK(said[0] == '\0');
	CHECK(hp_options->pin);
}

TEST(errno_is_kept)
{
	errno = ENOTTY;
	LOAD("HOTPIN_PIN=x");
	CHECK_EQ(errno, ENOTTY);
}

struct tally {
	unsigned rows, unlike;
};

static void compare(const struct hp_option_row *row, void *arg)
{
	struct tally *tally = arg;

	tally->rows++;
	if (strcmp(row->value, row->dflt) != 0) {
		printf("# %s shows %s, default is %s\n", row->variable, row->value, row->dflt);
		tally->unlike++;
	}
	CHECK(strncmp(row->variable, "HOTPIN", 6) == 0);
	CHECK(row->help[0] != '\0' && row->accepts[0] != '\0');
	CHECK(strlen(row->dflt) < HP_TEXT_MAX);
}

/* `hotpin env` shows each default as options.def has it. */
TEST(each_default_shows_as_written)
{
	struct tally tally = { 0 };

	load(NULL);
	hp_options_each(compare, &tally);
	CHECK(tally.rows >= 14);
	CHECK_EQ(tally.unlike, 0);
}

/* A different order of the enums in options.h and options.def would show here. */
TEST(words_match_their_enums)
{
	LOAD("HOTPIN_PROFILE=summary", "HOTPIN_CUPTI=force");
	CHECK_EQ(hp_options->profile, HP_PROFILE_SUMMARY);
	CHECK_EQ(hp_options->cupti, HP_CUPTI_FORCE);
	LOAD("HOTPIN_CUPTI=auto", "HOTPIN_SAMPLE=signal");
	CHECK_EQ(hp_options->cupti, HP_CUPTI_AUTO);
	CHECK_EQ(hp_options->sample, HP_SAMPLE_SIGNAL);
	LOAD("HOTPIN_SAMPLE=off");
	CHECK_EQ(hp_options->sample, HP_SAMPLE_OFF);
}

CHECK_MAIN()
