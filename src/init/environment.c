/*
 * environment.c - the runtime's two environment entries: hidden from the program, restored for
 * images that it starts.
 *
 * A launcher sets LD_PRELOAD (our library before the user's own) and RTCHECK_RUN_FILE. The program
 * must not see them: `env` prints the same as without us. Every exec gets them again, also after
 * `env -i`. Without a launcher the user sets LD_PRELOAD, and it stays unchanged.
 *
 * /proc/self/environ still shows them: we cannot change the kernel's copy.
 */
#include "init.h"

#include <string.h>

#define PRELOAD "LD_PRELOAD="
#define RUN_FILE "RTCHECK_RUN_FILE="

#define ENTRY_BYTES_MAX 131072u /* the kernel's limit for one entry */

static char users_preload[ENTRY_BYTES_MAX]; /* "LD_PRELOAD=..." without our library */

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

/* Save -1:<dev>:<ino>:<path>: the descriptor was valid in the first image only. */
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

/* Remove entry i, and keep the order of the others. */
static void remove_entry(char **envp, size_t i)
{
    for (; envp[i]; i++)
        envp[i] = envp[i + 1];
}

/* The LD_PRELOAD entry without our library; NULL: the user had none. */
static char *users_part(const char *entry)
{
    const char *value = entry + sizeof PRELOAD - 1;
    const char *rest = value + word_length(value);
    bool set_by_user = *rest; /* "us:": the user had set it, possibly to an empty value */
    struct text t = text_begin(users_preload, sizeof users_preload);
    text_put(&t, PRELOAD);
    text_put(&t, rest + set_by_user);
    text_end(&t);
    return set_by_user ? users_preload : NULL;
}

/* The entry as the program may see it; NULL: it must not see it. */
static char *without_runtime(char *entry)
{
    if (text_starts(entry, RUN_FILE))
        return NULL;
    return text_starts(entry, PRELOAD) ? users_part(entry) : entry;
}

static void hide(char **envp)
{
    for (size_t i = 0; envp[i];) {
        char *kept = without_runtime(envp[i]);
        if (kept)
            envp[i++] = kept;
        else
            remove_entry(envp, i);
    }
}

void environment_take(char **envp)
{
    struct environment e;
    environment_read(&e, envp);
    if (!e.readable)
        return;
    const char *run = find(envp, RUN_FILE), *preload = find(envp, PRELOAD);
    if (!run || !preload)
        return;
    rt.by_launcher = true;
    remember_run_file(run);
    remember_preload(preload);
    hide(envp);
}

/* ---- the environment of the next program ----------------------------------------------------- */

#define ENTRIES_MAX (6u << 20 >> 3) /* pointers that the kernel accepts */
#define LIBRARY "librtcheck.so"

/* A reader of the program's memory, which may not be readable: it probes each page once. */
struct reading {
    uintptr_t page;
};

static bool can_read(struct reading *r, const void *at)
{
    uintptr_t page = align_down((uintptr_t)at, PAGE_BYTES);
    if (r->page == page)
        return true;
    if (!os_is_readable((uintptr_t)at))
        return false;
    r->page = page;
    return true;
}

static bool reads_as(struct reading *r, const char *s, const char *prefix, bool *readable)
{
    for (; *prefix; s++, prefix++)
        if (!(*readable = can_read(r, s)) || *s != *prefix)
            return false;
    return true;
}

static bool read_length(struct reading *r, const char *s, size_t *length)
{
    for (*length = 0; *length < ENTRY_BYTES_MAX; ++*length) {
        if (!can_read(r, s + *length))
            return false;
        if (!s[*length])
            return true;
    }
    return false; /* more than the kernel accepts */
}

/*
 * Without a launcher our library is recognized by its file name: the user may have given any path.
 */
static bool is_runtime(const char *word, size_t n)
{
    size_t name = sizeof LIBRARY - 1;
    if (rt.by_launcher)
        return n == text_length(rt.preload) && memcmp(word, rt.preload, n) == 0;
    return n >= name && memcmp(word + n - name, LIBRARY, name) == 0 &&
           (n == name || word[n - name - 1] == '/');
}

/* The next word of a value of LD_PRELOAD; NULL: there are no more. Start with *n == 0. */
static const char *next_word(const char *at, size_t *n)
{
    at += *n;
    while (*at == ':' || *at == ' ')
        at++;
    *n = word_length(at);
    return *n ? at : NULL;
}

static void read_preload(struct environment *e, const char *value)
{
    size_t n = 0;
    e->preload = value;
    for (const char *word = next_word(value, &n); word && !e->runtime_word;
         word = next_word(word, &n))
        if (is_runtime(word, n)) {
            e->runtime_word = word;
            e->runtime_bytes = n;
        }
}

static bool read_entry(struct environment *e, struct reading *r, const char *entry)
{
    const char *value = entry + sizeof PRELOAD - 1;
    bool readable;
    if (!reads_as(r, entry, PRELOAD, &readable))
        return readable && (reads_as(r, entry, RUN_FILE, &readable) || readable);
    if (e->preload) /* the loader uses the first one */
        return true;
    if (!read_length(r, value, &e->preload_bytes))
        return false;
    read_preload(e, value);
    return true;
}

static bool read_entries(struct environment *e)
{
    struct reading array = {UINTPTR_MAX}, strings = {UINTPTR_MAX}; /* no page probed yet */
    for (;; e->count++) {
        const char *at = (const char *)(e->given + e->count),
                   *last = at + sizeof *e->given - 1; /* may be unaligned */
        if (!can_read(&array, at) || !can_read(&array, last) || e->count > ENTRIES_MAX)
            return false;
        if (!e->given[e->count])
            return true;
        if (!read_entry(e, &strings, e->given[e->count]))
            return false;
    }
}

void environment_read(struct environment *e, char *const *envp)
{
    *e = (struct environment){.given = envp, .readable = true};
    e->readable = !envp || read_entries(e);
}

size_t environment_room(const struct environment *e)
{
    return (e->count + 3) * sizeof *e->given + sizeof PRELOAD + sizeof rt.preload + 2 +
           e->preload_bytes;
}

/*
 * Copy all entries but our own. `preload` (NULL: none) replaces the first LD_PRELOAD, or is
 * appended.
 */
static char **put_entries(const struct environment *e, char **out, char *preload)
{
    bool placed = !preload;
    for (size_t i = 0; i < e->count; i++) {
        if (text_starts(e->given[i], PRELOAD)) {
            if (!placed)
                *out++ = preload;
            placed = true;
        } else if (!text_starts(e->given[i], RUN_FILE))
            *out++ = e->given[i];
    }
    if (!placed)
        *out++ = preload;
    return out;
}

static struct text begin_preload(const struct environment *e, void *room)
{
    char *words = (char *)((char **)room + e->count + 3);
    struct text t = text_begin(words, environment_room(e) - (size_t)(words - (char *)room));
    text_put(&t, PRELOAD);
    return t;
}

char *const *environment_with_runtime(const struct environment *e, void *room)
{
    char **out = room, *words = (char *)(out + e->count + 3);
    struct text t = begin_preload(e, room);
    text_put(&t, rt.preload);
    if (e->preload) { /* also an empty one: "us:" */
        text_put(&t, ":");
        text_put(&t, e->preload);
    }
    text_end(&t);
    char **end = put_entries(e, out, words);
    *end++ = rt.run_file;
    *end = NULL;
    return out;
}

char *const *environment_without_runtime(const struct environment *e, void *room)
{
    char **out = room, *words = (char *)(out + e->count + 3);
    struct text t = begin_preload(e, room);
    size_t n = 0, kept = 0;
    for (const char *word = next_word(e->preload, &n); word; word = next_word(word, &n)) {
        if (is_runtime(word, n))
            continue;
        text_put(&t, kept++ ? ":" : "");
        text_put_n(&t, word, n);
    }
    text_end(&t);
    *put_entries(e, out, kept ? words : NULL) = NULL;
    return out;
}
