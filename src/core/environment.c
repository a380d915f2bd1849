/*
 * environment.c - our two entries: taken out of the program's sight, put back for what it starts.
 *
 * A launcher sets LD_PRELOAD (our library in front of the user's own) and RTCHECK_RUN_FILE.  The
 * program shall not see them: `env` prints what it prints without us.  Every exec finds them again,
 * also after `env -i`.  By hand the user set LD_PRELOAD, and it stays as it is.
 *
 * /proc/self/environ still shows them: the kernel's copy is not ours to change.
 */
#include "core.h"

#include <string.h>

#define PRELOAD "LD_PRELOAD="
#define RUN_FILE "RTCHECK_RUN_FILE="

#define ENTRY_BYTES_MAX 131072u /* the kernel's bound of one entry */

static char users_preload[ENTRY_BYTES_MAX]; /* "LD_PRELOAD=..." without us */

static const char *find(char *const *envp, const char *prefix)
{
    for (; envp && *envp; envp++)
        if (text_starts(*envp, prefix))
            return *envp + text_length(prefix);
    return NULL;
}

static size_t word_length(const char *s)
{
    size_t n = 0;
    while (s[n] && s[n] != ':' && s[n] != ' ')
        n++;
    return n;
}

/* -1:<dev>:<ino>:<path>: the descriptor was for the first image only. */
static void remember_run_file(const char *value)
{
    while (*value && *value != ':')
        value++;
    struct text t = text_begin(rt.run_file, sizeof rt.run_file);
    text_put(&t, RUN_FILE "-1");
    text_put(&t, value);
    text_end(&t);
}

static void remember_preload(const char *value)
{
    struct text t = text_begin(rt.preload, sizeof rt.preload);
    text_put_n(&t, value, word_length(value));
    text_end(&t);
}

/* Takes entry i out by moving the rest up: the order stays the user's. */
static void remove_entry(char **envp, size_t i)
{
    for (; envp[i]; i++)
        envp[i] = envp[i + 1];
}

/* LD_PRELOAD as the user had it, in the place of ours; NULL: there was none. */
static char *users_part(const char *entry)
{
    const char *value = entry + sizeof PRELOAD - 1;
    const char *rest = value + word_length(value);
    bool theirs = *rest; /* "us:" = the user's own was set, if to nothing */
    struct text t = text_begin(users_preload, sizeof users_preload);
    text_put(&t, PRELOAD);
    text_put(&t, rest + theirs);
    text_end(&t);
    return theirs ? users_preload : NULL;
}

/* The entry as the program may see it; NULL: not at all. */
static char *without_us(char *entry)
{
    if (text_starts(entry, RUN_FILE))
        return NULL;
    return text_starts(entry, PRELOAD) ? users_part(entry) : entry;
}

static void hide(char **envp)
{
    for (size_t i = 0; envp[i];) {
        char *kept = without_us(envp[i]);
        if (kept)
            envp[i++] = kept;
        else
            remove_entry(envp, i);
    }
}

void environment_take(char **envp)
{
    const char *run = find(envp, RUN_FILE), *preload = find(envp, PRELOAD);
    if (!run || !preload)
        return;
    rt.by_launcher = true;
    remember_run_file(run);
    remember_preload(preload);
    hide(envp);
}

static size_t count(char *const *envp)
{
    size_t entries = 0;
    while (envp && envp[entries])
        entries++;
    return entries;
}

size_t environment_room(char *const *envp)
{
    const char *users = find(envp, PRELOAD);
    return (count(envp) + 3) * sizeof *envp + sizeof PRELOAD + sizeof rt.preload + 2 +
           (users ? text_length(users) : 0);
}

static bool has_us(const char *value)
{
    size_t n = text_length(rt.preload);
    for (const char *word = value;; word++) {
        if (word_length(word) == n && memcmp(word, rt.preload, n) == 0)
            return true;
        word += word_length(word);
        if (!*word)
            return false;
    }
}

char *const *environment_put_back(char *const *envp, void *room)
{
    const char *users = find(envp, PRELOAD);
    if (!rt.by_launcher || !rt.options.trace_children || (users && has_us(users)))
        return envp;
    char **out = room, *words = (char *)(out + count(envp) + 3);
    struct text t = text_begin(words, sizeof PRELOAD + sizeof rt.preload + 2 +
                                          (users ? text_length(users) : 0));
    text_put(&t, PRELOAD);
    text_put(&t, rt.preload);
    if (users) { /* also the empty one: "us:" */
        text_put(&t, ":");
        text_put(&t, users);
    }
    text_end(&t);
    size_t n = 0;
    bool placed = false;
    for (; envp && *envp; envp++) {
        bool preload = text_starts(*envp, PRELOAD);
        if (preload && !placed)
            out[n++] = words; /* where the user's stood */
        else if (!preload && !text_starts(*envp, RUN_FILE))
            out[n++] = *envp;
        placed = placed || preload;
    }
    if (!placed)
        out[n++] = words;
    out[n++] = rt.run_file;
    out[n] = NULL;
    return out;
}
