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

.macro stub_of_gate
	endbr64
	movl	$row, %r11d
	cmpl	$0, gate_word(%rip)
	jne	gate_closed
	jmp	*real_driver + 8 * row(%rip)
.endm

.macro stub_closed
	endbr64
	movl	$row, %r11d
	jmp	gate_closed
.endm

#include "shim/driver/thunk_rows.inc"

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

	.section .note.GNU-stack, "", %progbits
