/*
 * modules.c - asks the loader once for each file.
 */
#define _GNU_SOURCE
#include "trace/places/modules.h"
#include "base/lock.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Under the lock trace.  An unloaded file has no addresses. */
static struct module table[MODULES_MOST];
static size_t count;
static uint64_t forgets;

static uint64_t unloads; /* of modules_turn()'s thread: the loader's latest count */

/* Under the lock trace: the latest result, and the range of addresses that have this result. */
static struct {
	uintptr_t from, to;
	uint32_t index;
	size_t count; /* number of known files */
} latest;

struct question {
	uintptr_t address;
	bool found;
	struct module answer;
};

static void read_build_id(const ElfW(Phdr) * header, uintptr_t bias, struct module *ret)
{
	const char *at = (const char *)(bias + header->p_vaddr), *end = at + header->p_memsz;

	while (end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const char *name = at + sizeof(*note);
		const unsigned char *bytes =
			(const unsigned char *)name + (note->n_namesz + 3) / 4 * 4;

		if ((const char *)bytes + note->n_descsz > end)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(name, "GNU", 4) == 0) {
			for (size_t i = 0; i < note->n_descsz && i < 20; i++)
				snprintf(ret->build_id + 2 * i, 3, "%02x", bytes[i]);
			return;
		}
		at = (const char *)bytes + (note->n_descsz + 3) / 4 * 4;
	}
}

/* Runs under the loader's lock, so it only takes notes. */
static int look(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct question *question = arg;
	struct module *answer = &question->answer;

	(void)size;
	*answer = (struct module){ .from = UINTPTR_MAX, .bias = info->dlpi_addr };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t from = info->dlpi_addr + header->p_vaddr;

		if (header->p_type != PT_LOAD)
			continue;
		if ((header->p_flags & PF_X) && answer->text_to == 0) {
			answer->text_from = from;
			answer->text_to = from + header->p_memsz;
		}
		if (from < answer->from)
			answer->from = from;
		if (from + header->p_memsz > answer->to)
			answer->to = from + header->p_memsz;
	}
	if (question->address < answer->from || question->address >= answer->to)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE && answer->build_id[0] == '\0')
			read_build_id(&info->dlpi_phdr[i], info->dlpi_addr, answer);
	if (info->dlpi_name != NULL)
		snprintf(answer->path, sizeof(answer->path), "%s", info->dlpi_name);
	question->found = true;
	return 1;
}

/* With the lock trace held.  Returns the index of the file at `address`; MODULES_NOWHERE: none. */
static uint32_t index_of(uintptr_t address)
{
	if (latest.count == count && address >= latest.from && address < latest.to)
		return latest.index;
	latest.from = 0;
	latest.to = UINTPTR_MAX;
	latest.index = MODULES_NOWHERE;
	latest.count = count;
	for (size_t i = count; i-- > 0 && latest.index == MODULES_NOWHERE;) {
		uintptr_t from = table[i].from, to = table[i].to;

		if (address >= to) {
			latest.from = to > latest.from ? to : latest.from;
			continue;
		}
		if (address >= from) {
			latest.from = from > latest.from ? from : latest.from;
			latest.index = (uint32_t)i;
			from = to;
		}
		latest.to = from < latest.to ? from : latest.to;
	}
	return latest.index;
}

/* The loader has no name for the program itself. */
static void name_program(struct module *module)
{
	int saved = errno;
	/* /proc/self has no link after the first thread has ended. */
	ssize_t length = readlink("/proc/thread-self/exe", module->path, sizeof(module->path) - 1);

	errno = saved; /* in a chroot there may be no /proc */
	module->path[length > 0 ? length : 0] = '\0';
}

static bool is_same(const struct module *a, const struct module *b)
{
	return a->bias == b->bias && strcmp(a->path, b->path) == 0 &&
	       strcmp(a->build_id, b->build_id) == 0;
}

/* With the lock.  True if an unloaded file is loaded at its old addresses again. */
static bool loaded_again(const struct module *module)
{
	for (size_t i = 0; i < count; i++) {
		if (table[i].to != 0 || !is_same(&table[i], module))
			continue;
		table[i] = *module;
		latest.count = SIZE_MAX;
		return true;
	}
	return false;
}

void modules_note(uintptr_t address)
{
	struct question question = { .address = address };

	if (modules_find(address).module != MODULES_NOWHERE)
		return;
	dl_iterate_phdr(look, &question);
	if (!question.found)
		return;
	if (question.answer.path[0] == '\0')
		name_program(&question.answer);
	hp_lock(HP_LOCK_trace);
	if (index_of(address) == MODULES_NOWHERE && !loaded_again(&question.answer) &&
	    count < MODULES_MOST)
		table[count++] = question.answer;
	hp_unlock(HP_LOCK_trace);
}

static int count_unloads(struct dl_phdr_info *info, size_t size, void *arg)
{
	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs))
		*(uint64_t *)arg = info->dlpi_subs;
	return 1;
}

static bool is_there(const struct module *module)
{
	struct question question = { .address = module->from };

	dl_iterate_phdr(look, &question);
	if (question.found && question.answer.path[0] == '\0')
		name_program(&question.answer);
	return question.found && is_same(module, &question.answer);
}

/* With the lock.  Forgets the addresses of a file. */
static void forget(size_t index)
{
	struct module *module = &table[index];

	module->from = module->to = module->text_from = module->text_to = 0;
	latest.count = SIZE_MAX;
	forgets++;
}

void modules_turn(void (*forgotten)(uintptr_t from, uintptr_t to))
{
	uint64_t now = 0;
	struct module module;

	dl_iterate_phdr(count_unloads, &now);
	if (now == unloads)
		return;
	unloads = now;
	for (size_t i = 0; i < modules_count(); i++) {
		modules_read(i, &module);
		if (module.to == 0 || is_there(&module))
			continue;
		hp_lock(HP_LOCK_trace);
		forget(i);
		hp_unlock(HP_LOCK_trace);
		forgotten(module.from, module.to);
	}
}

struct search {
	const char *part, *text;
};

static int look_for_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct search *search = arg;

	(void)size;
	if (info->dlpi_name == NULL || strstr(info->dlpi_name, search->part) == NULL)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		const void *from = (const void *)(info->dlpi_addr + header->p_vaddr);

		if (header->p_type == PT_LOAD && (header->p_flags & (PF_R | PF_W)) == PF_R &&
		    memmem(from, header->p_filesz, search->text, strlen(search->text)) != NULL)
			return 1;
	}
	return 0;
}

bool modules_have_text(const char *part, const char *text)
{
	struct search search = { part, text };

	return dl_iterate_phdr(look_for_text, &search) != 0;
}

uint64_t modules_changes(void)
{
	return hp_locked(HP_LOCK_trace, count + forgets);
}

struct module_place modules_find_held(uintptr_t address)
{
	struct module_place place = { index_of(address), address };

	if (place.module != MODULES_NOWHERE)
		place.offset -= table[place.module].bias;
	return place;
}

struct module_place modules_find(uintptr_t address)
{
	struct module_place place = hp_locked(HP_LOCK_trace, modules_find_held(address));
	return place;
}

struct module_place modules_find_return(uintptr_t address)
{
	struct module_place place = modules_find_held(address - 1);

	place.offset++;
	return place;
}

size_t modules_count(void)
{
	return hp_locked(HP_LOCK_trace, count);
}

void modules_read(size_t index, struct module *ret)
{
	*ret = hp_locked(HP_LOCK_trace, table[index]);
}
