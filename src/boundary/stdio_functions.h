/*
 * stdio_functions.h - libc's functions on streams and formats. The runtime uses no stdio, and only
 * passes streams on: so their type is only declared.
 */
#ifndef STDIO_FUNCTIONS_H
#define STDIO_FUNCTIONS_H

#include <stdarg.h>
#include <stddef.h>

struct _IO_FILE; /* stdio.h calls it FILE */

size_t fread(void *to, size_t size, size_t n, struct _IO_FILE *stream);
size_t fread_unlocked(void *to, size_t size, size_t n, struct _IO_FILE *stream);
size_t __fread_chk(void *to, size_t room, size_t size, size_t n, struct _IO_FILE *stream);
size_t __fread_unlocked_chk(void *to, size_t room, size_t size, size_t n, struct _IO_FILE *stream);
size_t fwrite(const void *from, size_t size, size_t n, struct _IO_FILE *stream);
size_t fwrite_unlocked(const void *from, size_t size, size_t n, struct _IO_FILE *stream);
char *fgets(char *to, int n, struct _IO_FILE *stream);
char *fgets_unlocked(char *to, int n, struct _IO_FILE *stream);
char *__fgets_chk(char *to, size_t room, int n, struct _IO_FILE *stream);
char *__fgets_unlocked_chk(char *to, size_t room, int n, struct _IO_FILE *stream);
int fputs(const char *s, struct _IO_FILE *stream);
int fputs_unlocked(const char *s, struct _IO_FILE *stream);
int puts(const char *s);
void perror(const char *s);

int printf(const char *format, ...);
int vprintf(const char *format, va_list list);
int __printf_chk(int flag, const char *format, ...);
int __vprintf_chk(int flag, const char *format, va_list list);
int fprintf(struct _IO_FILE *stream, const char *format, ...);
int vfprintf(struct _IO_FILE *stream, const char *format, va_list list);
int __fprintf_chk(struct _IO_FILE *stream, int flag, const char *format, ...);
int __vfprintf_chk(struct _IO_FILE *stream, int flag, const char *format, va_list list);
int dprintf(int fd, const char *format, ...);
int vdprintf(int fd, const char *format, va_list list);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __vdprintf_chk(int fd, int flag, const char *format, va_list list);
int sprintf(char *to, const char *format, ...);
int vsprintf(char *to, const char *format, va_list list);
int __sprintf_chk(char *to, int flag, size_t room, const char *format, ...);
int __vsprintf_chk(char *to, int flag, size_t room, const char *format, va_list list);
int snprintf(char *to, size_t n, const char *format, ...);
int vsnprintf(char *to, size_t n, const char *format, va_list list);
int __snprintf_chk(char *to, size_t n, int flag, size_t room, const char *format, ...);
int __vsnprintf_chk(char *to, size_t n, int flag, size_t room, const char *format, va_list list);
int asprintf(char **to, const char *format, ...);
int vasprintf(char **to, const char *format, va_list list);
int __asprintf_chk(char **to, int flag, const char *format, ...);
int __vasprintf_chk(char **to, int flag, const char *format, va_list list);

/* __isoc99_: what compilers call for C99 and later, where %a is a number. */
int scanf(const char *format, ...);
int vscanf(const char *format, va_list list);
int fscanf(struct _IO_FILE *stream, const char *format, ...);
int vfscanf(struct _IO_FILE *stream, const char *format, va_list list);
int sscanf(const char *from, const char *format, ...);
int vsscanf(const char *from, const char *format, va_list list);
int __isoc99_scanf(const char *format, ...);
int __isoc99_vscanf(const char *format, va_list list);
int __isoc99_fscanf(struct _IO_FILE *stream, const char *format, ...);
int __isoc99_vfscanf(struct _IO_FILE *stream, const char *format, va_list list);
int __isoc99_sscanf(const char *from, const char *format, ...);
int __isoc99_vsscanf(const char *from, const char *format, va_list list);

#endif
