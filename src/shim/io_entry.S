/*
 * io_entry.S - one exported stub for every entry of io.def.
 *
 * A stub loads one word, and with no page closed jumps to the next definition: arguments, stack and
 * return address are what they were, so functions with any number of arguments can be passed on,
 * and a thread may be cancelled or interrupted in the function as ever.  The first call of each
 * goes by way of shim_io_enter(), which finds that definition: a table of addresses that the loader
 * would have to fill in costs every process some microseconds.
 *
 * r11 is the row of io.def: the x86-64 psABI leaves it to stubs like these.  rax holds how many
 * vector registers a call with "..." uses.
 */
#if !defined(__x86_64__)
#error "io_entry.S is written for x86-64"
#endif

/* struct io_frame: six argument registers, the row, rax, xmm0 to xmm7. */
#define FRAME_ROW  48
#define FRAME_RAX  56
#define FRAME_XMM  64
#define FRAME_SIZE 192

#include "shim/arguments.inc"

	.hidden	protect_busy
	.hidden	shim_fault_watching
	.hidden	shim_io_enter
	.hidden	shim_io_next
	.text

.macro stub name, gate, other
	.globl	\name
	.type	\name, @function
	.p2align 5
\name:
	.cfi_startproc
	endbr64
	cmpl	$0, \gate(%rip)
	jne	\other
	movq	shim_io_next + 8 * row(%rip), %r11
	testq	%r11, %r11
	jz	slow_\name
	jmp	*%r11
slow_\name:
	endbr64
	movl	$row, %r11d
	jmp	io_slow
	.cfi_endproc
	.size	\name, . - \name
	.set	row, row + 1
.endm

#define GATE_BYTES    protect_busy
#define GATE_ITEMS    protect_busy
#define GATE_VECTOR   protect_busy
#define GATE_VECTORS  protect_busy
#define GATE_MESSAGE  protect_busy
#define GATE_MESSAGES protect_busy
#define GATE_AIO      protect_busy
#define GATE_AIOS     protect_busy
#define GATE_ANY      protect_busy
#define GATE_ALL      protect_busy
#define GATE_IOCTL    shim_fault_watching
#define GATE_SYSCALL  shim_fault_watching

	.set	row, 0
#define IO(name, kind, a, b, c) stub name, GATE_##kind, slow_##name
#define SIGNAL(name) \
	.hidden	shim_##name; \
	stub name, shim_fault_watching, shim_##name
#include "real/io.def"

	.type	io_slow, @function
	.p2align 4
io_slow:
	.cfi_startproc
	save_arguments FRAME_SIZE, FRAME_XMM
	movq	%r11, FRAME_ROW(%rsp)
	movq	%rax, FRAME_RAX(%rsp)
	movq	%rsp, %rdi
	call	shim_io_enter
	movq	%rax, %r11
	restore_arguments FRAME_XMM
	movq	FRAME_RAX(%rsp), %rax
	leave
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	io_slow, . - io_slow

/*
 * What our own calls of syscall() are linked to (--wrap): the program's come to the stub, ours must
 * not meet it, for they may be made with a lock held, or while pages are being opened.
 */
	.globl	__wrap_syscall
	.hidden	__wrap_syscall
	.hidden	shim_io_failed
	.type	__wrap_syscall, @function
	.p2align 4
__wrap_syscall:
	.cfi_startproc
	endbr64
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	1f
	ret
1:	movq	%rax, %rdi
	jmp	shim_io_failed
	.cfi_endproc
	.size	__wrap_syscall, . - __wrap_syscall

	.section .note.GNU-stack, "", @progbits
