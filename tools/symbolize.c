/*
 * symbolize.c - finds functions, lines and inlined functions with libdw.
 *
 * The tables of the file are walked once: each symbol, unit and function looks for the addresses
 * in its range.  Compilers need not write .debug_aranges, and libdw looks up symbols one by one.
 */
#include "symbolize.h"
#include "named.h"
#include "names.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SYSTEM  "/usr/lib/debug"
#define ID_ROOM 129 /* digits of a build ID, with a zero byte */

/* A function at an address. */
struct level {
	Dwarf_Die die;
	const char *function, *path;
	int line; /* where the next inner level was inlined, or of the address itself */
};

struct spot {
	uint64_t address, symbol_begin;
	const char *symbol;
	Dwarf_CU *unit;
	struct level *levels; /* outermost first */
	size_t count;
};

struct image {
	struct spot *spots;
	size_t count;
	Dwarf_CU *unit; /* the one that is read */
	Dwarf_Files *files;
};

/* An open ELF file. */
struct object {
	struct named file;
	Elf *elf;
	Dwarf *dwarf; /* NULL: it has no lines */
};

typedef char *(*demangle_function)(const char *name, char *buffer, size_t *length, int *status);

static demangle_function demangler;

void symbolize_start(void)
{
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);

	if (library != NULL)
		demangler = (demangle_function)dlsym(library, "__cxa_demangle");
	elf_version(EV_CURRENT);
}

static void put_text(const char *text, FILE *to)
{
	fputs(text != NULL && strlen(text) < SYMBOLIZE_TEXT ? text : "", to);
	fputc('\0', to);
}

/* Writes the readable form of a name, or else `other`. */
static void put_name(const char *mangled, const char *other, FILE *to)
{
	int status = -1;
	char *readable = demangler != NULL && strncmp(mangled, "_Z", 2) == 0
				 ? demangler(mangled, NULL, NULL, &status)
				 : NULL;

	put_text(readable != NULL && strlen(readable) < SYMBOLIZE_TEXT ? readable : other, to);
	free(readable);
}

void symbolize_name(const char *mangled, FILE *to)
{
	put_name(mangled, "", to);
}

/* libdw follows links to other files by itself, which must fail. */
static void allow_opening(bool allowed)
{
	struct rlimit files;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = allowed ? files.rlim_max : 0;
	setrlimit(RLIMIT_NOFILE, &files);
}

static bool has_lines(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;

	return dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL) == 0;
}

static void object_close(struct object *object)
{
	dwarf_end(object->dwarf);
	elf_end(object->elf);
	close(object->file.fd);
}

/* Opens a regular file.  Returns 0, also if it is no ELF file, or a negative errno. */
static int object_open(const char *path, struct object *ret)
{
	allow_opening(true);
	int error = named_open(path, &ret->file);
	allow_opening(false);
	if (error < 0)
		return error;
	/* A stranger's profile must not make root reveal the names of a private program. */
	if (!named_is_readable(&ret->file)) {
		close(ret->file.fd);
		return -EACCES;
	}
	ret->elf = elf_begin(ret->file.fd, ELF_C_READ_MMAP, NULL);
	ret->dwarf = elf_kind(ret->elf) == ELF_K_ELF ? dwarf_begin_elf(ret->elf, DWARF_C_READ, NULL)
						     : NULL;
	if (ret->dwarf != NULL && !has_lines(ret->dwarf)) {
		dwarf_end(ret->dwarf);
		ret->dwarf = NULL;
	}
	return 0;
}

/* Writes the build ID as hexadecimal digits, "" if there is none. */
static void read_build_id(Elf *elf, char ret[ID_ROOM])
{
	const void *bits = NULL;
	ssize_t bytes = dwelf_elf_gnu_build_id(elf, &bits);

	ret[0] = '\0';
	for (ssize_t i = 0; i < bytes && 2 * i + 2 < ID_ROOM; i++)
		snprintf(ret + 2 * i, 3, "%02x", ((const unsigned char *)bits)[i]);
}

static enum symbolize_match match_of(const struct object *object, const struct symbolize_file *file)
{
	const char *wanted = file->build_id;
	char id[ID_ROOM];

	if (wanted == NULL && file->ended > 0 && object->file.status.st_mtime > file->ended)
		return SYMBOLIZE_OTHER;
	if (elf_kind(object->elf) != ELF_K_ELF)
		return SYMBOLIZE_NO_ELF;
	if (wanted == NULL)
		return SYMBOLIZE_LIKELY;
	/* A profile may state a shortened build ID; eight digits are enough. */
	read_build_id(object->elf, id);
	return strlen(wanted) >= 8 && strncmp(id, wanted, strlen(wanted)) == 0 ? SYMBOLIZE_VERIFIED
									       : SYMBOLIZE_OTHER;
}

static bool open_debug(const char *path, const char *build_id, struct object *ret)
{
	char id[ID_ROOM];

	if (object_open(path, ret) < 0)
		return false;
	read_build_id(ret->elf, id);
	if (ret->dwarf != NULL && strcmp(id, build_id) == 0)
		return true;
	object_close(ret);
	return false;
}

/* Finds a separate debug file, as gdb does ("Debugging Information in Separate Files"). */
static bool find_debug(const struct object *program, const char *given, struct object *ret)
{
	static const char *const places[][2] = { { "", "/" }, { "", "/.debug/" }, { SYSTEM, "/" } };
	const char *folder = program->file.path, *slash = strrchr(folder, '/');
	char id[ID_ROOM], path[PATH_MAX];
	GElf_Word crc;

	read_build_id(program->elf, id);
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
static size_t first_at(const struct image *image, uint64_t address)
{
	size_t low = 0, high = image->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (image->spots[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Of several symbols around a spot, the one that begins last is taken. */
static void note_symbol(struct image *image, const GElf_Sym *symbol, const char *name)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	if ((type != STT_FUNC && type != STT_OBJECT && type != STT_GNU_IFUNC) ||
	    symbol->st_shndx == SHN_UNDEF || name == NULL || name[0] == '\0')
		return;
	for (size_t i = first_at(image, symbol->st_value); i < image->count; i++) {
		struct spot *spot = &image->spots[i];

		if (spot->address - symbol->st_value >= symbol->st_size)
			return;
		if (spot->symbol == NULL || spot->symbol_begin < symbol->st_value) {
			spot->symbol = name;
			spot->symbol_begin = symbol->st_value;
		}
	}
}

/* Reads the first table of that kind; false if there is none. */
static bool read_symbols(struct image *image, Elf *elf, unsigned kind)
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
		note_symbol(image, &symbol, elf_strptr(elf, header.sh_link, symbol.st_name));
	return true;
}

static struct level *push(struct spot *spot, Dwarf_Die *die)
{
	spot->levels = realloc(spot->levels, (spot->count + 1) * sizeof(*spot->levels));
	if (spot->levels == NULL)
		_exit(1);
	spot->levels[spot->count] = (struct level){ .die = *die };
	return &spot->levels[spot->count++];
}

static bool is_function(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* The spot is in a function that was inlined into the last one. */
static void enter_inlined(struct image *image, struct spot *spot, Dwarf_Die *die)
{
	struct level *last = &spot->levels[spot->count - 1], inner = *last;
	Dwarf_Attribute attribute;
	Dwarf_Word file, line;

	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &file) == 0 &&
	    dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attribute), &line) == 0) {
		last->path = dwarf_filesrc(image->files, file, NULL, NULL);
		last->line = (int)line;
	} else {
		last->path = NULL;
	}
	struct level *pushed = push(spot, die);
	pushed->path = inner.path;
	pushed->line = inner.line;
}

static void enter_unit(struct image *image, struct spot *spot, Dwarf_Die *die)
{
	Dwarf_Line *line = dwarf_getsrc_die(die, spot->address);
	struct level *level = push(spot, die);

	spot->unit = image->unit;
	level->path = dwarf_linesrc(line, NULL, NULL);
	dwarf_lineno(line, &level->line);
}

/* A spot is in one unit, and in one function that was not inlined. */
static bool enter_at(struct image *image, struct spot *spot, Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_inlined_subroutine:
		if (spot->unit != image->unit)
			return false;
		enter_inlined(image, spot, die);
		return true;
	case DW_TAG_subprogram:
		if (spot->unit != image->unit || is_function(&spot->levels[0].die))
			return false;
		spot->levels[0].die = *die;
		return true;
	default:
		if (spot->unit != NULL)
			return false;
		enter_unit(image, spot, die);
		return true;
	}
}

/* Notes a unit or a function at the spots in its ranges; false if there are none. */
static bool enter(struct image *image, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;
	bool entered = false;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		for (size_t i = first_at(image, low);
		     i < image->count && image->spots[i].address < high; i++)
			entered |= enter_at(image, &image->spots[i], die);
	return entered;
}

/*
 * Looks for functions among the parts of a unit, type, function or block.  A function may be a part
 * of another one that does not contain its code.  `entered`: a spot is in the function around.
 */
static void walk(struct image *image, Dwarf_Die *parent, bool entered)
{
	Dwarf_Die die;

	for (int more = dwarf_child(parent, &die); more == 0; more = dwarf_siblingof(&die, &die))
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			walk(image, &die, enter(image, &die));
			break;
		case DW_TAG_inlined_subroutine:
			if (entered && enter(image, &die))
				walk(image, &die, true);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_lexical_block:
			walk(image, &die, entered);
			break;
		default:
			break;
		}
}

static void read_units(struct image *image, Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	size_t count;

	while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		image->unit = unit;
		if (!enter(image, &die))
			continue;
		if (dwarf_getsrcfiles(&die, &image->files, &count) != 0)
			image->files = NULL;
		walk(image, &die, false);
	}
}

/* True for a file that nvcc generates and removes. */
static bool is_temporary(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash != NULL ? slash + 1 : path, "tmpxft_", 7) == 0;
}

/* Names the function, and its source in place of nvcc's temporary file. */
static void settle(struct level *level)
{
	static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attribute;

	for (size_t i = 0; level->function == NULL && i < 3; i++)
		if (is_function(&level->die) &&
		    dwarf_attr_integrate(&level->die, names[i], &attribute) != NULL)
			level->function = dwarf_formstring(&attribute);
	if (level->path != NULL && is_temporary(level->path)) {
		level->path = dwarf_decl_file(&level->die);
		if (dwarf_decl_line(&level->die, &level->line) != 0 ||
		    (level->path != NULL && is_temporary(level->path)))
			level->path = NULL;
	}
	if (level->line <= 0)
		level->path = NULL;
}

static void put_level(const struct level *level, const char *mark, FILE *to)
{
	fputs(mark, to);
	if (level->function != NULL)
		put_name(level->function, level->function, to);
	else
		put_text(NULL, to);
	put_text(level->path, to);
	fprintf(to, "%d%c", level->line, '\0');
}

/*
 * Code that was inlined from a library's header counts for the line that it was inlined into.  An
 * inlined function without a name, or with that of the function around it, is a part of that.
 */
static void put_spot(struct spot *spot, FILE *to)
{
	struct level none = { .function = NULL };

	for (size_t i = 0; i < spot->count; i++)
		settle(&spot->levels[i]);
	for (size_t i = spot->count; i > 1; i--) {
		const struct level *inner = &spot->levels[i - 1];
		struct level *outer = &spot->levels[i - 2];

		if (inner->path == NULL || names_is_system_source(inner->path))
			continue;
		if (inner->function == NULL ||
		    (outer->function != NULL && strcmp(inner->function, outer->function) == 0)) {
			outer->path = inner->path;
			outer->line = inner->line;
		} else {
			put_level(inner, "+\n", to);
		}
	}
	struct level *outermost = spot->count > 0 ? &spot->levels[0] : &none;
	if (spot->symbol != NULL)
		outermost->function = spot->symbol;
	put_level(outermost, ".\n", to);
}

static void put_spots(const struct symbolize_file *file, const struct object *program,
		      const struct object *debug, FILE *to)
{
	struct image image = { calloc(file->count, sizeof(*image.spots)), file->count, NULL, NULL };

	if (image.spots == NULL)
		_exit(1);
	for (size_t i = 0; i < file->count; i++)
		image.spots[i].address = file->addresses[i];
	if (!read_symbols(&image, program->elf, SHT_SYMTAB) &&
	    (debug == NULL || !read_symbols(&image, debug->elf, SHT_SYMTAB)))
		read_symbols(&image, program->elf, SHT_DYNSYM);
	if (debug != NULL)
		read_units(&image, debug->dwarf);
	for (size_t i = 0; i < file->count; i++) {
		put_spot(&image.spots[i], to);
		free(image.spots[i].levels);
	}
	free(image.spots);
}

void symbolize_file(const struct symbolize_file *file, FILE *to)
{
	struct object program, separate;
	const struct object *debug = NULL;
	int error = object_open(file->path, &program);

	if (error < 0) {
		fprintf(to, "%d 0 0 0 0 0\n", -error);
		return;
	}
	enum symbolize_match match = match_of(&program, file);
	if (match >= SYMBOLIZE_LIKELY && program.dwarf != NULL)
		debug = &program;
	else if (match >= SYMBOLIZE_LIKELY && find_debug(&program, file->debug, &separate))
		debug = &separate;
	fprintf(to, "0 %d %d %lld %d %d\n", match, (program.file.status.st_mode & S_IROTH) != 0,
		(long long)program.file.status.st_mtime,
		named_is_trusted(&program.file) &&
			(debug == NULL || named_is_trusted(&debug->file)),
		debug != NULL);
	if (match >= SYMBOLIZE_LIKELY)
		put_spots(file, &program, debug, to);
	if (debug == &separate)
		object_close(&separate);
	object_close(&program);
}
