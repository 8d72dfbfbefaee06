/*
 * chains.c - reads code through the kernel, since a file may be unloaded at any moment.
 */
#define _GNU_SOURCE
#include "trace/samples/chains.h"
#include "base/hash.h"
#include "base/parse.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define KNOWN_BITS    11
#define LOOKS_A_TURN  64 /* queries to the loader */
#define ADDRESS_LEAST 65536

/* Addresses seen before, in no order.  A new address replaces an old one. */
static struct known {
	uint64_t address; /* 0: none */
	struct module_place place;
	enum { UNCHECKED, CALLER, NO_CALLER } caller;
} known[1 << KNOWN_BITS];

static bool reads = true;
static unsigned looks;
static uint64_t modules_seen;

bool chains_ends_with_call(const uint8_t code[CHAINS_CODE_BYTES])
{
	const uint8_t *end = code + CHAINS_CODE_BYTES;

	/* A call to an address; a call through a register or memory, with its shorter forms. */
	return end[-5] == 0xe8 || (end[-2] == 0xff && (end[-1] & 0x38) == 0x10) ||
	       (end[-3] == 0xff && (end[-2] & 0x38) == 0x10) ||
	       (end[-4] == 0xff && (end[-3] & 0x38) == 0x10) ||
	       (end[-6] == 0xff && (end[-5] & 0x38) == 0x10) ||
	       (end[-7] == 0xff && (end[-6] & 0x38) == 0x10);
}

/*
 * True if a call instruction precedes the address.  False also if the code is not readable: nothing
 * is mapped, or the kernel does not permit it.
 */
static bool is_behind_call(uint64_t address)
{
	uint8_t code[CHAINS_CODE_BYTES];
	struct iovec here = { code, sizeof(code) };
	struct iovec there = { (void *)(uintptr_t)(address - sizeof(code)), sizeof(code) };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)sizeof(code) &&
	       chains_ends_with_call(code);
}

static struct known *look_up(uint64_t address)
{
	struct known *slot = &known[hp_hash(address, KNOWN_BITS)];

	if (slot->address == address)
		return slot;
	*slot = (struct known){ .address = address, .place = modules_find(address) };
	if (slot->place.module == MODULES_NOWHERE && looks < LOOKS_A_TURN) {
		looks++;
		modules_note(address);
		slot->place = modules_find(address);
	}
	return slot;
}

size_t chains_resolve(const uint64_t *chain, size_t depth, struct module_place *ret)
{
	size_t believed = 1;

	ret[0] = look_up(chain[0])->place;
	for (; believed < depth && chain[believed] >= ADDRESS_LEAST; believed++) {
		struct known *slot = look_up(chain[believed]);

		if (slot->caller == UNCHECKED && reads)
			slot->caller = is_behind_call(slot->address) ? CALLER : NO_CALLER;
		if (slot->caller != CALLER)
			break;
		ret[believed] = slot->place;
	}
	return believed;
}

void chains_turn(bool code_is_read)
{
	uint64_t now = modules_changes();

	reads = code_is_read;
	looks = 0;
	for (size_t i = 0; i < HP_LEN(known); i++)
		if (now != modules_seen || known[i].place.module == MODULES_NOWHERE)
			known[i].address = 0;
	modules_seen = now;
}
