/*
 * library_jump.h - the exported dlopen: AArch64.
 */
#ifndef LIBRARY_JUMP_H
#define LIBRARY_JUMP_H

#define LIBRARY_JUMP_CLEARS 8

#define LIBRARY_JUMP __asm__("dlopen:\n")
#define ABORT_JUMP __asm__("abort:\n")
#define BACKTRACE_JUMP __asm__("backtrace:\n")

#endif
