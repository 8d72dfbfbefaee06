/*
 * thunk.S - an exported stub for each row of driver.def that has no C function.
 *
 * A stub loads the gate word.  If the gate is open, it jumps to the driver's function; arguments,
 * stack and return address are unchanged.  If it is closed, the stub saves the argument registers,
 * calls shim_gate_enter() and jumps to the address that this returns.
 */
#include "shim/driver/arguments.inc"

	.hidden	real_driver
	.hidden	gate_word
	.hidden	shim_gate_enter
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
	restore_arguments
	jmp	*%r11
	.cfi_endproc
	.size	gate_closed, . - gate_closed

	.section .note.GNU-stack, "", %progbits
