/*
 * advice_json.c - an entry of the advice as JSON.
 */
#include "analyze/advice_json.h"
#include "profile/texts.h"

static json_t *text(const char *value)
{
	return text_json(value[0] != '\0' ? value : NULL);
}

json_t *advice_json(const struct profile *profile, const struct advice *advice)
{
	json_t *made = json_object();
	int64_t tenths = (int64_t)((__int128_t)advice->saves_ns * 1000 / profile->wall_ns);

	json_object_set_new(made, "kind", text(advice_kinds[advice->kind]));
	json_object_set_new(made, "what", text(advice->what));
	json_object_set_new(made, "where", text(advice->where));
	json_object_set_new(made, "saves_ns", json_integer(advice->saves_ns));
	json_object_set_new(made, "saves_tenths_of_a_percent", json_integer(tenths));
	json_object_set_new(made, "basis", text(advice->is_estimate ? "estimate" : "bound"));
	json_object_set_new(made, "how", text(advice->how));
	json_object_set_new(made, "assumes", text(advice->assumes));
	json_object_set_new(made, "hotpin_run_does_it", json_boolean(advice->hotpin_does_it));
	json_object_set_new(made, "is_worth", json_boolean(advice_is_worth(profile, advice)));
	return made;
}
