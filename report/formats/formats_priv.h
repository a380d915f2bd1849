/*
 * formats_priv.h - shared by the writers of all formats. This is the top room: its interface is
 * report.h.
 *
 *   print.c        selects the format of the text; write_file.c: the reports in files beside it
 *   print_json*.c  rtcheck-report/1: report.schema.json, json.md
 *   print_sarif.c, print_junit.c, print_gitlab.c, print_github.c   for CI systems
 *   print_gcc.c, print_lsan.c, print_valgrind.c   as other tools print it
 *   print_xml.c    valgrind's XML
 *   callee.c       the frame of our allocation function, arguments of system calls
 *   source_paths.c paths of sources, as a format needs them; xml_text.c: text in XML
 *
 * All writers walk the same list of findings (findings.h): all formats report the same findings
 * with the same numbers. The list is made for one output and freed after it. Each format has its
 * own escapes for untrusted text; a reader of the output must not be misled by a function's name.
 */
#ifndef FORMATS_PRIV_H
#define FORMATS_PRIV_H

#include "text.h"

/* ---- source_paths.c -------------------------------------------------------------------------- */

/* Freed by the caller. */
char *source_path(const struct print_options *how, const char *file);

/* The source position to show first, as other programs expect it; .path is freed by the caller. */
struct finding_where {
    char *path;           /* of the program or library if no line is known */
    uint32_t line;        /* 0: not known */
    const char *function; /* or the module's name, or "?" */
};

struct finding_where finding_where(const struct report *r, const struct finding *f,
                                   const struct print_options *how);

/* ---- callee.c -------------------------------------------------------------------------------- */

/* A function of ours that the program called, and the path of our library. */
struct callee {
    const char *name; /* "???": which function is not known; NULL: there is no stack */
    int name_bytes;
    const char *object;
};

/*
 * Return the function that the innermost frame of a symbolized site called: `entry`, or if this is
 * ENTRY_NONE, the function that the code of the call leads to.
 */
struct callee callee_of(const struct report *r, uint32_t site, uint32_t entry);
/* The function that e->stack called. */
uint32_t call_of(const struct error *e);
/*
 * The argument of a system call that has passed uninitialised bytes to the kernel, as memcheck names it:
 * "write(buf)"; NULL: another function.
 */
const char *uninitialised_param(const struct error *e);

/* ---- print_*.c: one for each format ---------------------------------------------------------- */

void valgrind_print(struct report *r, FILE *out, const struct print_options *how);
void lsan_print(struct report *r, FILE *out, const struct print_options *how);
void gcc_print(struct report *r, FILE *out, const struct print_options *how);
void github_print(struct report *r, FILE *out, const struct print_options *how);
void json_print(struct report *r, FILE *out, const struct print_options *how);
void sarif_print(struct report *r, FILE *out, const struct print_options *how);
void junit_print(struct report *r, FILE *out, const struct print_options *how);
void gitlab_print(struct report *r, FILE *out, const struct print_options *how);
void valgrind_xml_print(struct report *r, FILE *out, const struct print_options *how);

/* ---- xml_text.c ------------------------------------------------------------------------------ */

/* Write `text` escaped, but for control characters in `plain`. */
void xml_put(FILE *out, const char *text, const char *plain);

#endif
