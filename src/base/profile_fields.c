/*
 * profile_fields.c - the tables of the fields of a profile.
 */
#include "base/profile_fields.h"
#include "base/parse.h"

#include <string.h>

/* tools/profile/schema.c alone needs the texts, when hotpin is built. */
#ifdef PROFILE_HELP
#define TEXTS_OF(text, all) .help = text, .words = all
#else
#define TEXTS_OF(text, all)
#endif

/* clang-format off */
#define FIELD(name, kind, presence, rule, member, help, ...) \
	{ name, FIELD_##kind, presence, rule, .at = offsetof(R, member), __VA_ARGS__ TEXTS_OF(help, NULL) },
#define RECORD(tag) \
	static struct profile_table table_of_##tag(void) \
	{ \
		typedef struct tag R; \
		static const struct profile_field fields[] = {
#define END \
		}; \
		return (struct profile_table){ fields, HP_LEN(fields), sizeof(R) }; \
	}
#define NUMBER(name, presence, rule, help) FIELD(#name, NUMBER, presence, rule, name, help)
#define INDEX(name, presence, all, help) \
	FIELD(#name, INDEX, presence, NONE, name, help, .other = offsetof(struct profile, all),)
#define TEXT(name, presence, rule, help) FIELD(#name, TEXT, presence, rule, name, help)
#define WORD(name, presence, rule, all, help) \
	{ #name, FIELD_TEXT, presence, rule, .at = offsetof(R, name), TEXTS_OF(help, all) },
#define FLAG(name, presence, rule, help) FIELD(#name, FLAG, presence, rule, name, help)
#define PART(name, tag, presence, rule, help) \
	FIELD(#name, PART, presence, rule, name, help, .record = tag##_id,)
#define LIST_OF(name, kind, member, many, tag, presence, rule, help, ...) \
	FIELD(name, kind, presence, rule, member, help, \
	      .count = offsetof(R, many), .record = tag, __VA_ARGS__)
#define LIST(name, member, many, tag, presence, rule, help) \
	LIST_OF(#name, LIST, member, many, tag##_id, presence, rule, help)
#define SHORT_LIST(name, member, many, tag, presence, rule, help) \
	LIST_OF(#name, SHORT_LIST, member, many, tag##_id, presence, rule, help)
#define ROWS(name, many, tag, presence, help) \
	LIST_OF(#name, ROWS, name, many, tag##_id, presence, NONE, help)
#define TEXTS(name, many, presence, help) \
	LIST_OF(#name, TEXTS, name, many, 0, presence, NONE, help)
#define NUMBERS(name, length, presence, help) \
	FIELD(#name, NUMBERS, presence, NONE, name, help, .other = length,)
#define OPTIONS(name, presence, help) \
	LIST_OF(#name, OPTIONS, name.items, name.count, 0, presence, NONE, help)
#define COUNTERS(name, presence, help) \
	LIST_OF(#name, COUNTERS, name.items, name.count, profile_entry_id, presence, KEYED, help)
#define FRAMES(name, help) \
	LIST_OF("frames", FRAMES, name.items, name.count, profile_frame_id, ALWAYS, NONE, help)
#define PYTHON(name, help) \
	LIST_OF("python", PYTHON, python, python_count, profile_source_id, IF_ANY, NONE, help, \
		.other = offsetof(R, name),)
#define PLACE(name, help) \
	FRAMES(name, help) \
	PYTHON(name, "the Python frames of the call, innermost first, 3 at most; absent if the " \
		     "thread ran no Python, or hotpin cannot read its interpreter. If all belong to " \
		     "installed libraries, the last one is the nearest caller outside of them")
#define UNREAD(name, tag, help) \
	{ #name, FIELD_UNREAD, IF_ANY, NONE, .record = tag##_id, TEXTS_OF(help, NULL) },
#define OWN(type, name)
#define OLD(name, help) { #name, FIELD_OLD, IF_ANY, NONE, TEXTS_OF(help, NULL) },
/* clang-format on */
#include "base/profile.def"

struct profile_table profile_table(enum profile_record_id id)
{
	switch (id) {
#define RECORD(tag)    \
	case tag##_id: \
		return table_of_##tag();
#include "base/profile.def"
	}
	return profile_table(profile_id);
}

void profile_forget(enum profile_record_id id, void *record)
{
	const struct profile_table table = profile_table(id);

	memset(record, 0, table.size);
	for (const struct profile_field *field = table.fields; field < table.fields + table.count;
	     field++) {
		char *at = (char *)record + field->at;

		switch ((enum profile_field_kind)field->kind) {
		case FIELD_NUMBER:
		case FIELD_INDEX:
			*(int64_t *)at = UNKNOWN;
			break;
		case FIELD_NUMBERS:
			for (unsigned i = 0; i < field->other; i++)
				((int64_t *)at)[i] = UNKNOWN;
			break;
		case FIELD_PART:
			profile_forget(field->record, at);
			break;
		default:
			break;
		}
	}
}
