/*
 * call_with_register.h - a call during which one word is in a register and nowhere else: AArch64.
 */
#ifndef CALL_WITH_REGISTER_H
#define CALL_WITH_REGISTER_H

static inline __attribute__((always_inline)) void
call_with_register(void **word, void (*before)(void), void (*f)(void))
{
    register void *x19 __asm__("x19") = *word;
    *word = 0;
    __asm__ volatile("blr %1\n\tblr %2"
                     : "+r"(x19)
                     : "r"(before), "r"(f)
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11",
                       "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x30", "memory", "cc");
}

#endif
