/* log_file.c - expansion of log file names. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"

struct name {
    char *at;
    size_t room; /* includes the NUL */
};

static bool put(struct name *name, const char *text, size_t n)
{
    if (n >= name->room)
        return false;
    memcpy(name->at, text, n);
    name->at += n;
    name->room -= n;
    *name->at = '\0';
    return true;
}

static bool put_text(struct name *name, const char *text)
{
    return put(name, text, strlen(text));
}

static bool put_number(struct name *name, long n)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%ld", n);
    return put_text(name, digits);
}

static bool put_host(struct name *name)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return put_text(name, host);
}

/* The program's name is untrusted: replace unprintable bytes by '_'. */
static bool put_program(struct name *name, const char *program)
{
    const char *slash = strrchr(program, '/'), *at = slash ? slash + 1 : program;
    bool fits = true;
    for (unsigned bytes; fits && *at; at += bytes ? bytes : 1) {
        bytes = printable_bytes(at);
        fits = bytes ? put(name, at, bytes) : put(name, "_", 1);
    }
    return fits;
}

/* "{VAR}" at *at: append its value and advance past it.  -EINVAL: wrong form, or not set. */
static int put_variable(struct name *name, const char **at, char err[TOOLS_ERROR_BYTES])
{
    const char *end = **at == '{' ? strchr(*at, '}') : NULL;
    char variable[128];
    size_t n = end ? (size_t)(end - *at - 1) : 0;
    if (n == 0 || n >= sizeof variable)
        return fail(err, -EINVAL, "%%q in a file name must be followed by {VARIABLE}");
    memcpy(variable, *at + 1, n);
    variable[n] = '\0';
    const char *value = getenv(variable);
    if (!value)
        return fail(err, -EINVAL, "%%q{%s} in a file name: the variable is not set", variable);
    *at = end + 1;
    return put_text(name, value) ? 0 : fail(err, -ENAMETOOLONG, "file name too long");
}

/* The field at *at ("%x.."): append its expansion and advance past it. */
static int put_field(struct name *name, const char **at, const struct log_facts *facts,
                     char err[TOOLS_ERROR_BYTES])
{
    char letter = (*at)[1];
    *at += letter ? 2 : 1;
    bool fits;
    switch (letter) {
    case 'p':
        fits = put_number(name, facts->pid);
        break;
    case 'n':
        fits = put_number(name, facts->image);
        break;
    case 'h':
        fits = put_host(name);
        break;
    case 'e':
        fits = put_program(name, facts->program);
        break;
    case '%':
        fits = put_text(name, "%");
        break;
    case 'q':
        return put_variable(name, at, err);
    default:
        return fail(err, -EINVAL, "%%%c in a file name: not one of %%p %%n %%q{VAR} %%h %%e %%%%",
                    letter ? letter : ' ');
    }
    return fits ? 0 : fail(err, -ENAMETOOLONG, "file name too long");
}

int log_path_expand(const char *pattern, const struct log_facts *facts, char *out, size_t room,
                    char err[TOOLS_ERROR_BYTES])
{
    struct name name = {out, room};
    *out = '\0';
    for (const char *at = pattern; *at;) {
        size_t plain = strcspn(at, "%");
        if (!put(&name, at, plain))
            return fail(err, -ENAMETOOLONG, "file name too long");
        at += plain;
        int bad = *at ? put_field(&name, &at, facts, err) : 0;
        if (bad)
            return bad;
    }
    return 0;
}
