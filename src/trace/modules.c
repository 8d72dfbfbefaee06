/*
 * modules.c - the loader is asked once a file.
 */
#define _GNU_SOURCE
#include "trace/modules.h"
#include "base/lock.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Under the lock trace. */
static struct module table[MODULES_MOST];
static size_t count;

/* Under the lock trace: the latest answer, and for which addresses the same would be found. */
static struct {
	uintptr_t from, to;
	uint32_t index;
	size_t count; /* how many files were known */
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

/* Runs under the loader's lock: takes notes and nothing else. */
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

/* With the lock trace held. */
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

/* The program itself has no name with the loader. */
static void name_program(struct module *module)
{
	int saved = errno;
	ssize_t length = readlink("/proc/self/exe", module->path, sizeof(module->path) - 1);

	errno = saved; /* in a chroot there may be no /proc */
	module->path[length > 0 ? length : 0] = '\0';
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
	if (count < MODULES_MOST && index_of(address) == MODULES_NOWHERE)
		table[count++] = question.answer;
	hp_unlock(HP_LOCK_trace);
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
	hp_lock(HP_LOCK_trace);
	struct module_place place = modules_find_held(address);
	hp_unlock(HP_LOCK_trace);
	return place;
}

struct module_place modules_find_return(uintptr_t address)
{
	struct module_place place = modules_find(address - 1);

	place.offset++;
	return place;
}

size_t modules_count(void)
{
	hp_lock(HP_LOCK_trace);
	size_t known = count;
	hp_unlock(HP_LOCK_trace);
	return known;
}

void modules_read(size_t index, struct module *ret)
{
	hp_lock(HP_LOCK_trace);
	*ret = table[index];
	hp_unlock(HP_LOCK_trace);
}
