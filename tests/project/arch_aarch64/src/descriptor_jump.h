/*
 * descriptor_jump.h - the exported functions that open and close descriptors: AArch64.
 */
#ifndef DESCRIPTOR_JUMP_H
#define DESCRIPTOR_JUMP_H

#define DESCRIPTOR_JUMP(symbol, name) __asm__(#symbol ":\n")
#define DESCRIPTOR_JUMP_RESOLVE __asm__("jump_to_descriptor_function:\n")

#endif
