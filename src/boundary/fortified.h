/*
 * fortified.h - functions that libc exports without declaring them: those that compilers call for
 * _FORTIFY_SOURCE, whose last argument is the size of the destination, and old names. And those whose
 * headers cannot be included here.
 */
#ifndef FORTIFIED_H
#define FORTIFIED_H

#include <stddef.h>
#include <stdlib.h>
#include <sys/types.h>
#include <wchar.h>

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

wchar_t *__wmemcpy_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room);
wchar_t *__wmempcpy_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room);
wchar_t *__wmemmove_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room);
wchar_t *__wmemset_chk(wchar_t *to, wchar_t c, size_t n, size_t room);
wchar_t *__wcscpy_chk(wchar_t *to, const wchar_t *from, size_t room);
wchar_t *__wcpcpy_chk(wchar_t *to, const wchar_t *from, size_t room);
wchar_t *__wcsncpy_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room);
wchar_t *__wcpncpy_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room);
wchar_t *__wcscat_chk(wchar_t *to, const wchar_t *from, size_t room);
wchar_t *__wcsncat_chk(wchar_t *to, const wchar_t *from, size_t n, size_t room);

/* <search.h> has another struct entry. */
void *lfind(const void *key, const void *array, size_t *n, size_t size, __compar_fn_t compare);
void *lsearch(const void *key, void *array, size_t *n, size_t size, __compar_fn_t compare);
/* <unistd.h> declares that the destination is only written, so gcc warns where it is looked at. */
void swab(const void *restrict from, void *restrict to, ssize_t n);

#endif
