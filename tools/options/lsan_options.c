/*
 * lsan_options.c - LSAN_OPTIONS as sanitizers read it: from the environment at process start.
 *
 * A value that a process sets in its environment later is meant for its children.  For example
 * `cmake -E env`, by which CTest sets LSAN_OPTIONS for a test, does not use the value itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bits.h"
#include "options_priv.h"

#define LSAN_SEPARATORS ": ,\t\r\n"

/* Length of the value at `text`; *from is its first character, *next points past the value. */
static size_t value_length(const char *text, const char **from, const char **next)
{
    const char *end = *text == '\'' || *text == '"' ? strchr(text + 1, *text) : NULL;
    size_t n = strcspn(text, LSAN_SEPARATORS);

    *from = end ? text + 1 : text;
    *next = end ? end + 1 : text + n;
    return end ? (size_t)(end - *from) : n;
}

const char *lsan_next(const char **at, size_t *key_bytes, char *value, size_t room)
{
    const char *from, *key = *at ? *at + strspn(*at, LSAN_SEPARATORS) : "";
    size_t n;

    if (!*key)
        return NULL;
    *key_bytes = strcspn(key, "=" LSAN_SEPARATORS);
    *at = key + *key_bytes;
    if (**at != '=')
        return lsan_next(at, key_bytes, value, room);
    n = value_length(*at + 1, &from, at);
    if (n >= room)
        return lsan_next(at, key_bytes, value, room);
    memcpy(value, from, n);
    value[n] = '\0';
    return key;
}

bool lsan_option(const char *text, const char *key, char *out, size_t room)
{
    char value[PATH_MAX];
    bool found = false;
    size_t n;

    for (const char *at; (at = lsan_next(&text, &n, value, sizeof value));)
        if (strlen(key) == n && memcmp(at, key, n) == 0 && strlen(value) < room) {
            strcpy(out, value);
            found = true;
        }
    return found;
}

/*
 * The initial environment, each entry NUL-terminated; NULL: it cannot be read.  The caller frees
 * it.
 */
static char *environment_of(pid_t pid, size_t *bytes)
{
    size_t room = 1 << 16;
    char path[64], *all = malloc(room);
    ssize_t n = 1;

    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (*bytes = 0; fd >= 0 && all && n > 0; *bytes += (size_t)(n > 0 ? n : 0)) {
        if (*bytes + 1 == room) {
            char *larger = realloc(all, room *= 2);
            if (!larger)
                break;
            all = larger;
        }
        n = read(fd, all + *bytes, room - *bytes - 1);
    }
    if (fd >= 0)
        close(fd);
    if (all && *bytes > 0) {
        all[*bytes] = '\0';
        return all;
    }
    free(all);
    return NULL;
}

char *variable_of_process(pid_t pid, const char *name)
{
    size_t bytes, n = strlen(name);
    char *all = environment_of(pid, &bytes), *text = NULL;
    const char *own = all ? NULL : getenv(name);

    if (own)
        return strdup(own);
    for (const char *at = all; all && at < all + bytes && !text; at += strlen(at) + 1)
        if (strncmp(at, name, n) == 0 && at[n] == '=')
            text = strdup(at + n + 1);
    free(all);
    return text;
}

char *lsan_text_of_process(pid_t pid)
{
    return variable_of_process(pid, "LSAN_OPTIONS");
}

bool lsan_option_of_process(pid_t pid, const char *key, char *out, size_t room)
{
    char *text = lsan_text_of_process(pid);
    bool found = lsan_option(text, key, out, room);

    free(text);
    return found;
}

/* ---- translation to rtcheck's options -------------------------------------------------------- */

static bool is_yes(const char *value)
{
    return strcmp(value, "1") == 0 || strcmp(value, "true") == 0 || strcmp(value, "yes") == 0;
}

/* Set the option, unless it was given to rtcheck. */
static int give(struct options *o, const char *name, const char *value, char err[TOOLS_ERROR_BYTES])
{
    char why[TOOLS_ERROR_BYTES];
    int bad = option_is_given(o, name) ? 0 : option_give(o, name, value, why);

    return bad ? fail(err, bad, "LSAN_OPTIONS: %.400s", why) : 0;
}

static int take_suppressions(struct options *o, const char *value, const char *program,
                             char err[TOOLS_ERROR_BYTES])
{
    const char *slash = strrchr(program, '/');
    char beside[2 * PATH_MAX];

    if (*value == '/' || !slash || access(value, F_OK) == 0)
        return give(o, "suppressions", value, err);
    snprintf(beside, sizeof beside, "%.*s/%s", (int)(slash - program), program, value);
    return give(o, "suppressions", access(beside, F_OK) == 0 ? beside : value, err);
}

/* LSAN's path P means the file P.PID; '%' is not special in it. */
int lsan_log_take(struct options *o, const char *text, char err[TOOLS_ERROR_BYTES])
{
    char value[PATH_MAX - 16], pattern[PATH_MAX];
    size_t used = 0;

    if (!lsan_option(text, "log_path", value, sizeof value) || !*value ||
        strcmp(value, "stderr") == 0 || strcmp(value, "stdout") == 0)
        return 0;
    for (const char *from = value; *from && used + 8 < sizeof pattern; from++) {
        if (*from == '%')
            pattern[used++] = '%';
        pattern[used++] = *from;
    }
    strcpy(pattern + used, ".%p");
    return give(o, "log-file", pattern, err);
}

/* Number of frames that are compared; 0 means all. */
static int take_resolution(struct options *o, const char *value, char err[TOOLS_ERROR_BYTES])
{
    long frames = strtol(value, NULL, 10);
    char text[24];

    if (option_is_given(o, "leak-resolution"))
        return 0;
    snprintf(text, sizeof text, "%ld", frames < RTC_STACK_FRAMES ? frames : (long)RTC_STACK_FRAMES);
    return give(o, "match", frames == 0 ? "all" : text, err);
}

/* Fixed behaviour of the leak scan; a warning is printed if LSAN_OPTIONS request otherwise. */
static const struct {
    const char *key;
    bool is;
    const char *why;
} fixed[] = {
    {"use_globals", true, "data of programs and libraries is always searched"},
    {"use_stacks", true, "stacks are always searched"},
    {"use_registers", true,
     "registers are always scanned: blocks that only they hold are reported as air"},
    {"use_tls", true, "variables of threads are always searched"},
    {"use_root_regions", true, "regions that the program names are always searched"},
    {"use_ld_allocations", true, "blocks of the loader are always searched"},
    {"use_unaligned", false, "pointers are read where they are aligned"},
    {"use_poisoned", false, "freed and unused memory is never searched"},
};

static void warn_fixed(const char *text, struct warnings *warnings)
{
    char value[64];

    for (size_t i = 0; i < countof(fixed); i++)
        if (lsan_option(text, fixed[i].key, value, sizeof value) && is_yes(value) != fixed[i].is)
            warnings_add(warnings, "LSAN_OPTIONS: %s=%.10s has no effect: %s", fixed[i].key, value,
                         fixed[i].why);
}

int lsan_options_take(struct options *o, const char *text, const char *program,
                      struct warnings *warnings, char err[TOOLS_ERROR_BYTES])
{
    char value[PATH_MAX - 16];
    int bad = 0;

    if (lsan_option(text, "suppressions", value, sizeof value) && *value)
        bad = take_suppressions(o, value, program, err);
    if (!bad && lsan_option(text, "exitcode", value, sizeof value))
        bad = give(o, "error-exitcode", value, err);
    if (!bad && lsan_option(text, "report_objects", value, sizeof value) && is_yes(value))
        bad = give(o, "leak-check", "full", err);
    if (!bad && lsan_option(text, "max_leaks", value, sizeof value))
        bad = give(o, "max-leaks", value, err);
    if (!bad && lsan_option(text, "resolution", value, sizeof value))
        bad = take_resolution(o, value, err);
    if (!bad && lsan_option(text, "print_suppressions", value, sizeof value) && is_yes(value))
        bad = give(o, "print-suppressions", "yes", err);
    warn_fixed(text, warnings);
    return bad;
}
