/*
 * variadic_jump.h - exported variadic functions whose arguments are looked at: AArch64.
 */
#ifndef VARIADIC_JUMP_H
#define VARIADIC_JUMP_H

#include <stdarg.h>
#include <stdint.h>

struct saved_arguments {
    uint64_t word[8];
};

static inline void saved_list(va_list *list, const struct saved_arguments *saved, unsigned named,
                              const void *frame)
{
    (void)list;
    (void)saved;
    (void)named;
    (void)frame;
}

#define VARIADIC_JUMP(name) __asm__(#name ":\n")

#endif
