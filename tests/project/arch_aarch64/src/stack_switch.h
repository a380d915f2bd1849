/*
 * stack_switch.h - call a function on another stack: AArch64.
 */
#ifndef STACK_SWITCH_H
#define STACK_SWITCH_H

#include <stdint.h>

/*
 * helper_switch(f, about, top, &sp) calls f(about) with the stack pointer at `top`.  It stores in
 * *sp the stack pointer to which it returns.  It has a frame pointer, so unwinders find the caller
 * on the other stack.
 */
void helper_switch(void (*f)(void *), void *about, uintptr_t top, uintptr_t *sp);

#define SWITCH_CFA_BYTES 16u /* from the stack pointer saved by helper_switch */

#endif
