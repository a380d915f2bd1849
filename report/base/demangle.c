/*
 * demangle.c - demangle linkage names of C++, Rust and D by libiberty.
 *
 * Names are untrusted. A demangled name can be exponentially longer than its mangled form, which
 * refers to repeated parts by a letter or two, also in a nested way. So the output of libiberty is
 * taken in pieces, and the name is given up beyond PLAIN_MAX_BYTES.
 */
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "basics.h"

#define NAME_MAX_BYTES (64u << 10)
#define D_NAME_MAX_BYTES (4u << 10) /* libiberty's D demangler cannot be stopped half way */
#define PLAIN_MAX_BYTES (256u << 10)

typedef int demangler(const char *name, int options, demangle_callbackref callback, void *opaque);

struct plain {
    char *text;
    size_t bytes, room;
    jmp_buf too_much;
};

static void take(const char *piece, size_t bytes, void *opaque)
{
    struct plain *p = opaque;

    if (bytes > PLAIN_MAX_BYTES - p->bytes)
        longjmp(p->too_much, 1); /* leaks nothing: libiberty uses its stack only */
    if (p->bytes + bytes >= p->room) {
        p->room = 2 * (p->bytes + bytes) + 64;
        p->text = xalloc(realloc(p->text, p->room));
    }
    memcpy(p->text + p->bytes, piece, bytes);
    p->bytes += bytes;
    p->text[p->bytes] = '\0';
}

static char *demangle_by(demangler *language, const char *name, int options)
{
    struct plain *p = xalloc(calloc(1, sizeof *p));
    char *text;

    if (setjmp(p->too_much) != 0 || !language(name, options, take, p)) {
        free(p->text);
        p->text = NULL;
    }
    text = p->text;
    free(p);
    return text;
}

/* Shorten the full name of std::string, which is as long as a line, wherever it occurs. */
static char *with_short_strings(char *text)
{
    static const char whole[] =
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
    static const char brief[] = "std::string";
    const char *from = text;
    char *to = text;

    while (text && *from) {
        if (strncmp(from, whole, sizeof whole - 1) == 0) {
            to = mempcpy(to, brief, sizeof brief - 1);
            from += sizeof whole - 1;
        } else {
            *to++ = *from++;
        }
    }
    if (text)
        *to = '\0';
    return text;
}

static char *demangle_with(const char *name, int options)
{
    size_t bytes = strlen(name);
    char *plain;

    if (bytes > NAME_MAX_BYTES)
        return NULL;
    plain =
        demangle_by(rust_demangle_callback, name, options); /* legacy Rust names are C++ names */
    if (!plain)
        plain = with_short_strings(demangle_by(cplus_demangle_v3_callback, name, options));
    if (!plain && bytes <= D_NAME_MAX_BYTES)
        plain = dlang_demangle(name, options & DMGL_PARAMS);
    return plain;
}

char *demangle(const char *name)
{
    return demangle_with(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
}

char *report_demangle(const char *name, bool has_parameters)
{
    return has_parameters ? demangle(name) : demangle_with(name, DMGL_ANSI | DMGL_AUTO);
}
