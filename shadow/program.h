/*
 * program.h - does the dynamic loader preload a library into a program?  The answer is derived from
 * the program's file: by the runtime before an exec, and by the launcher before the first program.
 *
 * LD_PRELOAD works in programs that glibc's loader for x86-64 starts, unless they are in
 * secure-execution mode.  A static program ignores LD_PRELOAD.  The loader of another ELF class
 * prints an error and continues.  Another libc's loader tries to load glibc's library, and fails.
 * Programs linked with a sanitizer's runtime refuse to start if another library is loaded before
 * it.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "shadow.h"

#define PROGRAM_PATH_BYTES 256u /* limit of the kernel for a script's first line */
#define PROGRAM_SCRIPT_DEPTH 5u /* limit of the kernel for nested interpreters */

/* A file: read up to `bytes` at offset `at`; return the number of bytes, or a negative number. */
struct program_file {
    long (*read)(const struct program_file *file, void *to, size_t bytes, uint64_t at);
    int fd;
};

struct program {
    enum unchecked_reason why; /* STATIC, MACHINE, LOADER, SANITIZER; NONE: preloaded or unknown */
    bool is_elf;
    bool is_script;                  /* its interpreter decides */
    char detail[PROGRAM_PATH_BYTES]; /* path of loader or interpreter, or sanitizer's library */
};

/* Examine a file with any content. */
void program_examine(const struct program_file *file, struct program *out);

/* "it is statically linked" */
const char *unchecked_text(enum unchecked_reason why);

#endif
