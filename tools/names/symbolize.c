/*
 * symbolize.c - finds functions, lines and inlined functions with libdw.
 *
 * The tables of the file are walked once: each symbol, unit and function looks for the addresses
 * in its range.  Compilers need not write .debug_aranges, and libdw looks up symbols one by one.
 */
#include "names/symbolize.h"
#include "system/untrusted_file.h"
#include "names/names.h"
#include "profile/texts.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SYSTEM  "/usr/lib/debug"
#define ID_ROOM 129 /* digits of a build ID, with a zero byte */

struct spot {
	uint64_t address, symbol_begin;
	const char *symbol;
	Dwarf_Die *dies; /* the unit, a function, and those that are inlined into one another */
	size_t count;
};

struct spots {
	struct spot *items; /* by address */
	size_t count;
};

struct source_line {
	const char *path; /* NULL: not known */
	int number;
};

/* An open ELF file. */
struct object {
	struct untrusted_file file;
	Elf *elf;
	Dwarf *dwarf; /* NULL: it has no lines */
	char build_id[ID_ROOM];
};

typedef char *(*demangle_function)(const char *name, char *buffer, size_t *length, int *status);

static demangle_function demangler;

void symbolize_start(void)
{
	void *library = demangler == NULL ? dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL) : NULL;

	if (library != NULL)
		demangler = (demangle_function)dlsym(library, "__cxa_demangle");
	elf_version(EV_CURRENT);
}

static void put(json_t *value, FILE *to)
{
	json_dumpf(value, to, JSON_COMPACT);
	fputc('\n', to);
	json_decref(value);
}

static json_t *json_text(const char *text)
{
	return text_json(text != NULL && strlen(text) < SYMBOLIZE_NAME_MOST ? text : NULL);
}

/* Returns the readable form of a name, or else `other`. */
static json_t *readable(const char *name, const char *other)
{
	int status = -1;
	bool is_mangled = demangler != NULL && name != NULL && strncmp(name, "_Z", 2) == 0;
	char *text = is_mangled ? demangler(name, NULL, NULL, &status) : NULL;
	json_t *made = json_text(text);

	free(text);
	return json_is_null(made) ? json_text(other) : made;
}

void symbolize_name(const char *mangled, FILE *to)
{
	put(json_pack("{s:o}", "readable", readable(mangled, NULL)), to);
}

/* libdw follows links to other files by itself, which must fail. */
static void allow_opening(bool allowed)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = allowed ? files.rlim_max : 0;
	setrlimit(RLIMIT_NOFILE, &files);
}

static void object_close(struct object *object)
{
	dwarf_end(object->dwarf);
	elf_end(object->elf);
	close(object->file.fd);
}

static void read_build_id(struct object *object)
{
	const void *bits = NULL;
	ssize_t bytes = dwelf_elf_gnu_build_id(object->elf, &bits);

	object->build_id[0] = '\0';
	for (ssize_t i = 0; i < bytes && 2 * i + 2 < ID_ROOM; i++)
		snprintf(object->build_id + 2 * i, 3, "%02x", ((const unsigned char *)bits)[i]);
}

/* Opens a regular file.  Returns 0, also if it is no ELF file, or a negative errno. */
static int object_open(const char *path, struct object *ret)
{
	Dwarf_CU *unit = NULL;

	allow_opening(true);
	int error = untrusted_file_open(path, &ret->file);
	allow_opening(false);
	if (error < 0)
		return error;
	/* A stranger's profile must not make root reveal the names of a private program. */
	if (!untrusted_file_is_readable(&ret->file)) {
		close(ret->file.fd);
		return -EACCES;
	}
	ret->elf = elf_begin(ret->file.fd, ELF_C_READ_MMAP, NULL);
	ret->dwarf = elf_kind(ret->elf) == ELF_K_ELF ? dwarf_begin_elf(ret->elf, DWARF_C_READ, NULL)
						     : NULL;
	if (dwarf_get_units(ret->dwarf, NULL, &unit, NULL, NULL, NULL, NULL) != 0) {
		dwarf_end(ret->dwarf);
		ret->dwarf = NULL;
	}
	read_build_id(ret);
	return 0;
}

static bool open_debug(const char *path, const char *build_id, struct object *ret)
{
	if (object_open(path, ret) < 0)
		return false;
	if (ret->dwarf != NULL && strcmp(ret->build_id, build_id) == 0)
		return true;
	object_close(ret);
	return false;
}

/* Finds a separate debug file, as gdb does ("Debugging Information in Separate Files"). */
static bool find_debug(const struct object *program, const char *given, struct object *ret)
{
	static const char *const places[][2] = { { "", "/" }, { "", "/.debug/" }, { SYSTEM, "/" } };
	const char *id = program->build_id, *folder = program->file.path;
	const char *slash = strrchr(folder, '/');
	char path[PATH_MAX];
	GElf_Word crc;

	if (strlen(id) < 8)
		return false;
	if (given != NULL && open_debug(given, id, ret))
		return true;
	snprintf(path, sizeof(path), SYSTEM "/.build-id/%.2s/%s.debug", id, id + 2);
	if (open_debug(path, id, ret))
		return true;
	/* A linker writes a name without a folder. */
	const char *name = dwelf_elf_gnu_debuglink(program->elf, &crc);
	if (name == NULL || name[0] == '\0' || strchr(name, '/') != NULL || slash == NULL)
		return false;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int length = snprintf(path, sizeof(path), "%s%.*s%s%s", places[i][0],
				      (int)(slash - folder), folder, places[i][1], name);

		if (length < (int)sizeof(path) && open_debug(path, id, ret))
			return true;
	}
	return false;
}

/* Returns the index of the first spot at or after the address. */
static size_t first_at(const struct spots *spots, uint64_t address)
{
	size_t low = 0, high = spots->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spots->items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of several symbols around a spot, the one that begins last is taken. */
static void note_symbol(struct spots *spots, const GElf_Sym *symbol, const char *name)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) ||
	    symbol->st_shndx == SHN_UNDEF || name == NULL || name[0] == '\0')
		return;
	for (size_t i = first_at(spots, symbol->st_value); i < spots->count; i++) {
		struct spot *spot = &spots->items[i];

		if (spot->address - symbol->st_value >= symbol->st_size)
			return;
		if (spot->symbol == NULL || spot->symbol_begin < symbol->st_value) {
			spot->symbol = name;
			spot->symbol_begin = symbol->st_value;
		}
	}
}

/* Reads the first table of that kind; false if there is none. */
static bool read_symbols(struct spots *spots, Elf *elf, unsigned kind)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym symbol;

	while ((section = elf_nextscn(elf, section)) != NULL)
		if (gelf_getshdr(section, &header) != NULL && header.sh_type == kind)
			break;
	Elf_Data *data = section != NULL ? elf_getdata(section, NULL) : NULL;
	if (data == NULL)
		return false;
	for (int i = 0; gelf_getsym(data, i, &symbol) != NULL; i++)
		note_symbol(spots, &symbol, elf_strptr(elf, header.sh_link, symbol.st_name));
	return true;
}

/* A spot is in one unit, and there in one function that is not inlined. */
static bool enter_at(struct spot *spot, const Dwarf_Die *die, int tag)
{
	bool fits = tag == DW_TAG_subprogram           ? spot->count == 1
		    : tag == DW_TAG_inlined_subroutine ? spot->count > 1
						       : spot->count == 0;

	if (!fits || (spot->count > 0 && spot->dies[0].cu != die->cu))
		return false;
	spot->dies = realloc(spot->dies, (spot->count + 1) * sizeof(*spot->dies));
	if (spot->dies == NULL)
		_exit(1);
	spot->dies[spot->count++] = *die;
	return true;
}

/* Notes a unit or a function at the spots in its ranges; false if there are none. */
static bool enter(struct spots *spots, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	bool entered = false;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		for (size_t i = first_at(spots, low);
		     i < spots->count && spots->items[i].address < high; i++)
			entered |= enter_at(&spots->items[i], die, dwarf_tag(die));
	return entered;
}

/*
 * Looks for functions among the parts of a unit, type, function or block.  A function may be a part
 * of another one that does not contain its code.  `entered`: a spot is in the function around.
 */
static void walk(struct spots *spots, Dwarf_Die *parent, bool entered)
{
	Dwarf_Die die;

	for (int more = dwarf_child(parent, &die); more == 0; more = dwarf_siblingof(&die, &die))
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			walk(spots, &die, enter(spots, &die));
			break;
		case DW_TAG_inlined_subroutine:
			if (entered && enter(spots, &die))
				walk(spots, &die, true);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_lexical_block:
			walk(spots, &die, entered);
			break;
		default:
			break;
		}
}

static const char *function_of(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) == NULL &&
	    dwarf_attr_integrate(die, DW_AT_name, &attribute) == NULL)
		return NULL;
	return dwarf_formstring(&attribute);
}

/* Returns the line into which the function is inlined. */
static struct source_line call_of(Dwarf_Die *unit, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t count;

	if (dwarf_getsrcfiles(unit, &files, &count) != 0 ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) != 0 ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) != 0)
		return (struct source_line){ NULL, 0 };
	return (struct source_line){ dwarf_filesrc(files, file, NULL, NULL), (int)line };
}

/* True for a file that nvcc generates and removes. */
static bool is_temporary(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash != NULL ? slash + 1 : path, "tmpxft_", 7) == 0;
}

/* Returns the line, or that of the function in place of one in nvcc's temporary file. */
static struct source_line checked(struct source_line line, Dwarf_Die *function)
{
	if (line.path != NULL && is_temporary(line.path)) {
		line.path = dwarf_decl_file(function);
		if (dwarf_decl_line(function, &line.number) != 0 ||
		    (line.path != NULL && is_temporary(line.path)))
			line.path = NULL;
	}
	return line.number > 0 ? line : (struct source_line){ NULL, 0 };
}

static json_t *row_of(const char *function, struct source_line line)
{
	return json_pack("{s:o,s:o,s:o}", "function", readable(function, function), "file",
			 json_text(line.path), "line",
			 line.path != NULL ? json_integer(line.number) : json_null());
}

static void add_inlined(json_t *list, const char *function, struct source_line line)
{
	json_t *row = row_of(function, line);

	if (json_array_size(list) < PROFILE_FRAMES_MOST &&
	    !json_is_null(json_object_get(row, "function")) &&
	    !json_is_null(json_object_get(row, "file")))
		json_array_append(list, row);
	json_decref(row);
}

/*
 * Writes the names of one address.  Code that was inlined from a library's header counts for the
 * line that it was inlined into.  An inlined function without a name, or with that of the function
 * around it, is a part of that.
 */
static void put_spot(const struct spot *spot, FILE *to)
{
	struct source_line line = { NULL, 0 };
	const char *function = NULL;
	json_t *inlined = json_array();

	if (spot->count > 0) {
		Dwarf_Line *found = dwarf_getsrc_die(&spot->dies[0], spot->address);

		line.path = dwarf_linesrc(found, NULL, NULL);
		dwarf_lineno(found, &line.number);
		line = checked(line, &spot->dies[spot->count - 1]);
	}
	if (spot->count > 1)
		function = function_of(&spot->dies[spot->count - 1]);
	for (size_t i = spot->count; i > 2; i--) {
		Dwarf_Die *outer = &spot->dies[i - 2];
		const char *around = function_of(outer);
		struct source_line call = checked(call_of(&spot->dies[0], outer + 1), outer);

		if (line.path == NULL || names_is_system_source(line.path))
			line = call;
		else if (function != NULL && (around == NULL || strcmp(function, around) != 0)) {
			add_inlined(inlined, function, line);
			line = call;
		}
		function = around;
	}
	json_t *row = json_pack("{s:i,s:I}", "module", 0, "offset", (json_int_t)spot->address);
	json_object_update_new(row, row_of(spot->symbol != NULL ? spot->symbol : function, line));
	if (json_array_size(inlined) > 0)
		json_object_set(row, "inlined", inlined);
	json_decref(inlined);
	put(row, to);
}

static void put_spots(const struct symbolize_file *file, const struct object *program,
		      const struct object *debug, FILE *to)
{
	struct spots spots = { calloc(file->count, sizeof(*spots.items)), file->count };
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	if (spots.items == NULL)
		_exit(1);
	for (size_t i = 0; i < file->count; i++)
		spots.items[i].address = file->addresses[i];
	if (!read_symbols(&spots, program->elf, SHT_SYMTAB) &&
	    (debug == NULL || !read_symbols(&spots, debug->elf, SHT_SYMTAB)))
		read_symbols(&spots, program->elf, SHT_DYNSYM);
	while (debug != NULL &&
	       dwarf_get_units(debug->dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		if (enter(&spots, &die))
			walk(&spots, &die, false);
	for (size_t i = 0; i < file->count; i++) {
		put_spot(&spots.items[i], to);
		free(spots.items[i].dies);
	}
	free(spots.items);
}

void symbolize_file(const struct symbolize_file *file, FILE *to)
{
	struct object program = { .elf = NULL }, separate;
	const struct object *debug = NULL;
	const struct stat *status = &program.file.status;
	int error = object_open(file->path, &program);
	bool is_elf = error == 0 && elf_kind(program.elf) == ELF_K_ELF;
	/* A profile may state a shortened build ID; eight digits are enough. */
	bool verified = is_elf && file->build_id != NULL && strlen(file->build_id) >= 8 &&
			strncmp(program.build_id, file->build_id, strlen(file->build_id)) == 0;
	bool newer = error == 0 && file->ended > 0 && status->st_mtime > file->ended;
	bool differs = file->build_id != NULL ? is_elf && !verified : newer;
	bool known = is_elf && !differs;

	if (known && program.dwarf != NULL)
		debug = &program;
	else if (known && find_debug(&program, file->debug, &separate))
		debug = &separate;
	put(json_pack("{s:i,s:b,s:b,s:b,s:b,s:b,s:o}", "error", -error, "differs", differs,
		      "verified", verified, "public", (status->st_mode & S_IROTH) != 0, "trusted",
		      error == 0 && untrusted_file_is_safe(&program.file) &&
			      (debug == NULL || untrusted_file_is_safe(&debug->file)),
		      "has_lines", debug != NULL, "modified",
		      error == 0 && status->st_mtime >= 0 ? json_integer(status->st_mtime)
							  : json_null()),
	    to);
	if (known)
		put_spots(file, &program, debug, to);
	if (debug == &separate)
		object_close(&separate);
	if (error == 0)
		object_close(&program);
}
