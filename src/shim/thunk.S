/*
 * thunk.S - one exported stub for every entry of driver.def that has no code of its own.
 *
 * A stub loads the gate word, and with nothing outstanding jumps to the driver's function: the
 * arguments, the stack and the return address are what they were.  Otherwise the argument
 * registers are saved around shim_gate_enter(), whose answer is jumped to.
 *
 * r11 is the row of driver.def: the x86-64 psABI leaves it to stubs like these.
 */
#if !defined(__x86_64__)
#error "thunk.S is written for x86-64"
#endif

/* struct shim_frame: six argument registers, the row, a gap, xmm0 to xmm7. */
#define FRAME_ROW  48
#define FRAME_XMM  64
#define FRAME_SIZE 192

#include "shim/arguments.inc"

	.hidden	real_driver
	.hidden	shim_gate
	.hidden	shim_gate_enter
	.text

.macro stub name
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
	.cfi_startproc
	endbr64
	movl	$row, %r11d
	cmpl	$0, shim_gate(%rip)
	jne	gate_closed
	jmp	*real_driver + 8 * row(%rip)
	.cfi_endproc
	.size	\name, . - \name
.endm

/* One that always comes by the gate. */
.macro seen name
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
	.cfi_startproc
	endbr64
	movl	$row, %r11d
	jmp	gate_closed
	.cfi_endproc
	.size	\name, . - \name
.endm

	.set	row, 0

.macro EXPOSES_ROW name
	seen	\name
	.set	row, row + 1
.endm

.macro DRIVER_ROW name
	stub	\name
	.set	row, row + 1
.endm

.macro WRAPPED_ROW
	.set	row, row + 1
.endm

#define DRIVER(name, class, stream) DRIVER_ROW name
#define WRAPPED(name, class, stream) WRAPPED_ROW
#define EXPOSES(name, class, stream, how) EXPOSES_ROW name
#include "real/driver.def"

/* For names that this version does not know: handed out one by one by shim/dlsym.c, never open. */
	.globl	shim_unknown_stubs
	.hidden	shim_unknown_stubs
	.type	shim_unknown_stubs, @function
	.p2align 5
shim_unknown_stubs:
	.set	unknown, 0
.rept 128	/* SHIM_UNKNOWN_MOST */
	.p2align 5
	.cfi_startproc
	endbr64
	movl	$row, %r11d
	jmp	gate_closed
	.cfi_endproc
	.set	row, row + 1
	.set	unknown, unknown + 1
.endr
	.size	shim_unknown_stubs, . - shim_unknown_stubs

	.type	gate_closed, @function
	.p2align 4
gate_closed:
	.cfi_startproc
	save_arguments FRAME_SIZE, FRAME_XMM
	movq	%r11, FRAME_ROW(%rsp)
	movq	%rsp, %rdi
	call	shim_gate_enter
	movq	%rax, %r11
	restore_arguments FRAME_XMM
	leave
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	gate_closed, . - gate_closed

/* What is exported for each row, for those who hand out addresses. */
	.section .data.rel.ro, "aw"
	.globl	shim_exports
	.hidden	shim_exports
	.type	shim_exports, @object
	.p2align 3
shim_exports:
#define DRIVER(name, class, stream) .quad name
#define WRAPPED DRIVER
#define EXPOSES(name, class, stream, how) .quad name
#include "real/driver.def"
	.size	shim_exports, . - shim_exports

	.section .note.GNU-stack, "", @progbits
