/*
 * entry.S - a stub for each libc function of calls.def, and for each function of the driver and of
 * CUPTI.
 *
 * Unless the call is to fail, a stub ends with a jump and leaves every register unchanged.  So the
 * return address still identifies the caller, for libc and for fault.c.
 */
#include "shim/driver/arguments.inc"

	.hidden	fault_enter
	.text
	.set	number, 1

.macro stub name
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
	endbr64
	movl	$number, %r11d
	jmp	common
	.size	\name, . - \name
	.set	number, number + 1
.endm

#define CALL(name, kind, error) stub name
#include "calls.def"

/* Returned as the dlsym() that a preloaded library finds after itself. */
	.hidden	fault_dlsym
	stub	fault_dlsym

	.globl	fault_driver_stubs
	.hidden	fault_driver_stubs
	.type	fault_driver_stubs, @function
	.p2align 5
fault_driver_stubs:
#define ROW .p2align 5; endbr64; movl $number, %r11d; jmp common; .set number, number + 1;
#define DRIVER(name, ...) ROW
#define WRAPPED DRIVER
#define EXPOSES DRIVER
#include "real/driver.def"
#define CUPTI(name) ROW
#include "cupti.def"
	.size	fault_driver_stubs, . - fault_driver_stubs

	.type	common, @function
	.p2align 4
common:
	.cfi_startproc
	save_arguments
	movq	%rsp, %rdi
	call	fault_enter
	movq	%rax, %r11
	restore_arguments
	testq	%r11, %r11
	je	1f
	jmp	*%r11
1:	ret
	.cfi_endproc
	.size	common, . - common

	.section .note.GNU-stack, "", @progbits
