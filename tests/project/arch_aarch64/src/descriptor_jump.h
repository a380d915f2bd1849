/*
 * descriptor_jump.h - the exported functions that open and close descriptors: AArch64.
 */
#ifndef DESCRIPTOR_JUMP_H
#define DESCRIPTOR_JUMP_H

#define DESCRIPTOR_JUMP(name) __asm__(#name ":\n")
#define DESCRIPTOR_JUMP_RESOLVE __asm__("jump_to_descriptor_function:\n")

#endif
