/*
 * How a program tells libfault.so about its own calls, and the table that fault.py reads.
 */
#ifndef HP_FAULT_FAULT_H
#define HP_FAULT_FAULT_H

#include <stdint.h>

#define FAULT_PLACES 4096

/*
 * The place of a call: its function, and its offset in the library.  The file of FAULT_TABLE holds
 * FAULT_PLACES of them, for all processes together.
 */
struct fault_place {
	_Atomic uint64_t key; /* 0: none.  function << 48 | system call << 32 | offset */
	_Atomic uint32_t calls;
	uint32_t unused;
	char name[48];
};

/*
 * The program calls the driver function `name`: failures in it would also be reported without the
 * library.  NULL: it has returned.  Absent (weak) without libfault.so.
 */
__attribute__((weak)) void fault_program_calls(const char *name);

#endif
