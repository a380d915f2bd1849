/*
 * call_with_register.h - a call during which one word is in a register and nowhere else: x86-64.
 *
 * For programs that show what a scan for pointers finds in registers.  The register is one that
 * called functions must preserve (System V ABI), so it has the word as long as `f` runs.
 */
#ifndef CALL_WITH_REGISTER_H
#define CALL_WITH_REGISTER_H

/* Move *word to a register and clear it, call `before`, then `f`, which does not return. */
static inline __attribute__((always_inline)) void
call_with_register(void **word, void (*before)(void), void (*f)(void))
{
    void (*volatile calls[2])(void) = {before, f};
    __asm__ volatile("mov %0, %%r14\n\t"
                     "movq $0, %0\n\t"
                     "call *%1\n\t"
                     "call *%2"
                     : "+m"(*word)
                     : "m"(calls[0]), "m"(calls[1])
                     : "r14", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory",
                       "cc");
}

#endif
