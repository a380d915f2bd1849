/* stack_use.h - operators new and delete by their mangled names: stack_use.c is C. */
#ifndef STACK_USE_H
#define STACK_USE_H

#include <stddef.h>

#include <sys/types.h>

pid_t _Fork(void); /* glibc 2.34; POSIX 2024 */
void *new_one(size_t bytes) __asm__("_Znwm");
void *new_array(size_t bytes) __asm__("_Znam");
void *new_aligned(size_t bytes, size_t align) __asm__("_ZnwmSt11align_val_t");
void delete_one(void *p) __asm__("_ZdlPv");
void delete_sized(void *p, size_t bytes) __asm__("_ZdlPvm");
void delete_array(void *p) __asm__("_ZdaPv");
void delete_aligned(void *p, size_t align) __asm__("_ZdlPvSt11align_val_t");

#endif
