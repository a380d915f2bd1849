/*
 * The shapes of cfa.c: void NAME(work *f, void *argument) { f(argument); }
 *
 * A DWARF expression is written as the bytes of .cfi_escape: opcode, register, length, block.
 * 0x0f def_cfa_expression, 0x10 expression; 0x70+r breg, 0x06 deref, 0x23 plus_uconst.  There is no
 * val_expression: libunwind, in its own process, takes such a register for unknown.
 */
#define FUNCTION(name) .globl name; .type name, @function; .p2align 4; name: .cfi_startproc
#define END(name) .cfi_endproc; .size name, . - name

    .text

/* As the trampoline that binds a function at its first call: rsp is aligned, rbx is as it was. */
FUNCTION(cfa_in_rbx)
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    mov %rsp, %rbx
    .cfi_def_cfa_register %rbx
    and $-64, %rsp
    sub $192, %rsp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov %rbx, %rsp
    .cfi_def_cfa_register %rsp
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
END(cfa_in_rbx)

FUNCTION(cfa_in_r12)
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    push %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    mov %rsp, %r12
    .cfi_def_cfa_register %r12
    mov $-1, %rbp
    and $-32, %rsp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov %r12, %rsp
    .cfi_def_cfa_register %rsp
    pop %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    pop %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    ret
END(cfa_in_r12)

/* The register points somewhere below the frame. */
FUNCTION(cfa_in_r15_far)
    push %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15, 0
    sub $4096, %rsp
    .cfi_adjust_cfa_offset 4096
    mov %rsp, %r15
    .cfi_def_cfa_register %r15
    and $-128, %rsp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov %r15, %rsp
    .cfi_def_cfa_register %rsp
    add $4096, %rsp
    .cfi_adjust_cfa_offset -4096
    pop %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r15
    ret
END(cfa_in_r15_far)

/* As in OpenSSL: the old stack pointer lies in the frame, CFA = *(rsp + 24) + 8. */
FUNCTION(cfa_by_expression)
    mov %rsp, %rax
    .cfi_def_cfa_register %rax
    sub $72, %rsp
    and $-64, %rsp
    mov %rax, 24(%rsp)
    .cfi_escape 0x0f, 5, 0x77, 24, 0x06, 0x23, 8
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov 24(%rsp), %rsp
    .cfi_def_cfa %rsp, 8
    ret
END(cfa_by_expression)

/* CFA = *(rbx + 8) + 16, rbx saved below it. */
FUNCTION(cfa_by_expression_of_rbx)
    push %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    mov %rsp, %rax
    .cfi_def_cfa_register %rax
    sub $160, %rsp
    and $-32, %rsp
    lea 32(%rsp), %rbx
    mov %rax, 8(%rbx)
    .cfi_escape 0x0f, 5, 0x73, 8, 0x06, 0x23, 16
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov 8(%rbx), %rsp
    .cfi_def_cfa %rsp, 16
    pop %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    ret
END(cfa_by_expression_of_rbx)

/* The caller's rbp lies at rsp + 16, and rbp has another use. */
FUNCTION(rbp_saved_by_expression)
    sub $40, %rsp
    .cfi_adjust_cfa_offset 40
    mov %rbp, 16(%rsp)
    .cfi_escape 0x10, 6, 2, 0x77, 16
    mov $42, %ebp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov 16(%rsp), %rbp
    .cfi_restore %rbp
    add $40, %rsp
    .cfi_adjust_cfa_offset -40
    ret
END(rbp_saved_by_expression)

FUNCTION(rbp_in_another_register)
    push %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    mov %rbp, %r14
    .cfi_register %rbp, %r14
    mov $42, %ebp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov %r14, %rbp
    .cfi_restore %rbp
    pop %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r14
    ret
END(rbp_in_another_register)

/* An early way out in the middle; the state behind it is the one before it. */
FUNCTION(remembered_state)
    push %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    sub $16, %rsp
    .cfi_adjust_cfa_offset 16
    test %rdi, %rdi
    jnz 1f
    .cfi_remember_state
    add $16, %rsp
    .cfi_adjust_cfa_offset -16
    pop %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    ret
1:  .cfi_restore_state
    mov $42, %ebp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    add $16, %rsp
    .cfi_adjust_cfa_offset -16
    pop %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    ret
END(remembered_state)

/* Offsets too large for a byte or a word of a rule. */
FUNCTION(large_offsets)
    sub $90008, %rsp
    .cfi_adjust_cfa_offset 90008
    movq %rbp, 8(%rsp)
    .cfi_rel_offset %rbp, 8
    mov $42, %ebp
    mov %rdi, %rax
    mov %rsi, %rdi
    call *%rax
    mov 8(%rsp), %rbp
    .cfi_restore %rbp
    add $90008, %rsp
    .cfi_adjust_cfa_offset -90008
    ret
END(large_offsets)

    .section .note.GNU-stack, "", @progbits
