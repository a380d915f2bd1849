/*
 * program.h - does the dynamic loader load a preloaded library into a program?  Decided from the program's file, by
 * the runtime before an exec and by the launcher before the first program.
 *
 * LD_PRELOAD works in programs that glibc's loader for x86-64 starts, in ordinary mode.  A static program ignores it;
 * the loader of another class prints an error and goes on; another libc's loader tries to load glibc's library, and
 * fails.  Programs linked with a sanitizer's runtime refuse to start behind another library.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "shadow.h"

#define PROGRAM_PATH_BYTES 256u /* the kernel reads so much of a script's first line */
#define PROGRAM_SCRIPT_DEPTH 5u /* interpreters of interpreters, as the kernel */

/* A file: reads up to `bytes` at offset `at`; returns how many, or a negative number. */
struct program_file {
    long (*read)(const struct program_file *file, void *to, size_t bytes, uint64_t at);
    int fd;
};

struct program {
    enum unchecked_reason
        why; /* STATIC, MACHINE, LOADER or SANITIZER; NONE: it does, or the file does not tell */
    bool is_elf;
    bool is_script; /* its interpreter decides */
    char detail
        [PROGRAM_PATH_BYTES]; /* path of the loader or (script) the interpreter, or the sanitizer's library */
};

/* Whatever the file holds. */
void program_examine(const struct program_file *file, struct program *out);

/* "it is statically linked" */
const char *unchecked_text(enum unchecked_reason why);

#endif
