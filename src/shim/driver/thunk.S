/*
 * thunk.S - an exported stub for each row of driver.def that has no C function.
 *
 * A stub loads the gate word.  If the gate is open, it jumps to the driver's function; arguments,
 * stack and return address are unchanged.  If it is closed, the stub saves the argument registers,
 * calls shim_gate_enter() and jumps to the address that this returns.  If the call is timed, the
 * stub calls that address instead, with a copy of the arguments that lie on the stack (stacked.def).
 */
#include "shim/driver/arguments.inc"

	.hidden	real_driver
	.hidden	gate_word
	.hidden	shim_gate_enter
	.hidden	shim_gate_leave
	.text

	.set	row, 0

.macro stub_begin name
	.globl	\name
	.type	\name, %function
	.p2align 5
\name:
	.cfi_startproc
.endm

.macro stub_end name
	.cfi_endproc
	.size	\name, . - \name
	.set	row, row + 1
.endm

/* A stub that checks the gate. */
.macro DRIVER_ROW name
	stub_begin	\name
	endbr64
	movl	$row, %r11d
	cmpl	$0, gate_word(%rip)
	jne	gate_closed
	jmp	*real_driver + 8 * row(%rip)
	stub_end	\name
.endm

/* The body of a stub that always passes the gate. */
.macro stub_closed
	endbr64
	movl	$row, %r11d
	jmp	gate_closed
.endm

.macro EXPOSES_ROW name
	stub_begin	\name
	stub_closed
	stub_end	\name
.endm

/* A C function has this name. */
.macro WRAPPED_ROW
	.set	row, row + 1
.endm

#define DRIVER(name, ...) DRIVER_ROW name;
#define WRAPPED(name, ...) WRAPPED_ROW;
#define EXPOSES(name, ...) EXPOSES_ROW name;
#include "real/driver.def"

/* For functions that driver.def lacks: unknown.c hands these out one by one. */
	.globl	shim_unknown_stubs
	.hidden	shim_unknown_stubs
	.type	shim_unknown_stubs, %function
	.balign SHIM_UNKNOWN_BYTES
shim_unknown_stubs:
.rept SHIM_UNKNOWN_MOST
	.balign SHIM_UNKNOWN_BYTES
	.cfi_startproc
	stub_closed
	.cfi_endproc
	.set	row, row + 1
.endr
	.size	shim_unknown_stubs, . - shim_unknown_stubs

	.type	gate_closed, %function
	.p2align 4
gate_closed:
	.cfi_startproc
	save_arguments
	movq	%rsp, %rdi
	call	shim_gate_enter
	movq	%rax, %r11
	testq	%rdx, %rdx
	jnz	gate_timed
	.cfi_remember_state
	restore_arguments
	jmp	*%r11

gate_timed:
	.cfi_restore_state
	testq	$1, %rdx	/* an odd number of words: the stack stays aligned */
	jnz	gate_copy
	pushq	$0
	jmp	gate_copy
gate_push:
	pushq	8(%rbp, %rdx, 8)
gate_copy:
	decq	%rdx
	jnz	gate_push
	leaq	-SHIM_FRAME_BYTES(%rbp), %r10
	load_arguments %r10
	call	*%r11
	leaq	-SHIM_FRAME_BYTES(%rbp), %rdi
	movq	%rax, SHIM_FRAME_ROW + 8(%rdi)
	call	shim_gate_leave
	movq	SHIM_FRAME_ROW + 8 - SHIM_FRAME_BYTES(%rbp), %rax
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	gate_closed, . - gate_closed

/* The exported function of each row. */
	.section .data.rel.ro, "aw"
	.globl	shim_exports
	.hidden	shim_exports
	.type	shim_exports, %object
	.p2align 3
shim_exports:
#define DRIVER(name, ...) .quad name;
#define WRAPPED DRIVER
#define EXPOSES DRIVER
#include "real/driver.def"
	.size	shim_exports, . - shim_exports
	.text

	.section .note.GNU-stack, "", %progbits
