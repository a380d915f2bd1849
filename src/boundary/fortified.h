/*
 * fortified.h - functions that libc exports without declaring them: those that compilers call for
 * _FORTIFY_SOURCE, whose last argument is the size of the destination, and old names.
 */
#ifndef FORTIFIED_H
#define FORTIFIED_H

#include <stddef.h>

void *__mempcpy(void *to, const void *from, size_t n);
void *__rawmemchr(const void *in, int c);
void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__mempcpy_chk(void *to, const void *from, size_t n, size_t room);
void *__memmove_chk(void *to, const void *from, size_t n, size_t room);
void *__memset_chk(void *to, int c, size_t n, size_t room);
void __explicit_bzero_chk(void *to, size_t n, size_t room);
char *__stpcpy(char *to, const char *from);
char *__strcpy_chk(char *to, const char *from, size_t room);
char *__stpcpy_chk(char *to, const char *from, size_t room);
char *__strncpy_chk(char *to, const char *from, size_t n, size_t room);
char *__stpncpy_chk(char *to, const char *from, size_t n, size_t room);
char *__strcat_chk(char *to, const char *from, size_t room);
char *__strncat_chk(char *to, const char *from, size_t n, size_t room);
char *__strdup(const char *s);
char *__strndup(const char *s, size_t n);

#endif
