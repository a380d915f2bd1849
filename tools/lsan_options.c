/*
 * lsan_options.c - LSAN_OPTIONS as the sanitizers read it: when a process starts.
 *
 * What the process puts into its environment later is for those that it starts: `cmake -E env`, by
 * which CTest sets LSAN_OPTIONS for a test, is not meant itself.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools.h"

#define LSAN_SEPARATORS ": ,\t\r\n"

/* Length of the value at `text`; *from is where it begins, *next what is behind it. */
static size_t value_length(const char *text, const char **from, const char **next)
{
    const char *end = *text == '\'' || *text == '"' ? strchr(text + 1, *text) : NULL;
    size_t n = strcspn(text, LSAN_SEPARATORS);

    *from = end ? text + 1 : text;
    *next = end ? end + 1 : text + n;
    return end ? (size_t)(end - *from) : n;
}

bool lsan_option(const char *text, const char *key, char *out, size_t room)
{
    size_t key_bytes = strlen(key);
    bool found = false;

    for (const char *at = text ? text : "", *from; *(at += strspn(at, LSAN_SEPARATORS));) {
        size_t name = strcspn(at, "=" LSAN_SEPARATORS), n;
        bool is_it = name == key_bytes && memcmp(at, key, name) == 0;
        at += name;
        if (*at != '=')
            continue;
        n = value_length(at + 1, &from, &at);
        if (!is_it || n >= room)
            continue;
        memcpy(out, from, n);
        out[n] = '\0';
        found = true;
    }
    return found;
}

/* What it was started with, each entry NUL-terminated; NULL: that cannot be read.  Freed by the caller. */
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

bool lsan_option_of_process(pid_t pid, const char *key, char *out, size_t room)
{
    static const char name[] = "LSAN_OPTIONS=";
    size_t bytes;
    char *all = environment_of(pid, &bytes);
    bool found = false;

    if (!all)
        return lsan_option(getenv("LSAN_OPTIONS"), key, out, room);
    for (const char *at = all; at < all + bytes; at += strlen(at) + 1)
        if (strncmp(at, name, sizeof name - 1) == 0) {
            found = lsan_option(at + sizeof name - 1, key, out, room);
            break;
        }
    free(all);
    return found;
}
