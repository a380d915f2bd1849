/*
 * fuzz_options.c - both parsers of options: the launcher's, of text and of arguments, and the
 * runtime's, of text.
 *
 * rtc-build: options arch +runtime_options.c
 *
 * An input is a text, or words that each end with a NUL.  Required: no crash or leak; a refusal has
 * a reason; an accepted one has a canonical text that means the same again, or a reason why not;
 * and the runtime reads the same options from a text as the launcher.
 */
#include "fuzz.h"
#include "runtime_options.h"
#include "options.h"

#define INPUT_MAX 4096
#define WORDS_MAX 16

static char err[TOOLS_ERROR_BYTES];

/* ---- both understand the same --------------------------------------------------------------- */

static int fill_of(const struct options *o, const char *name)
{
    const char *text = option_text(o, name);
    return strcmp(text, "no") == 0      ? -1
           : strcmp(text, "block") == 0 ? FILL_OF_BLOCK
                                        : (int)strtol(text, NULL, 16);
}

static unsigned long limit_of(const char *text)
{
    return strcmp(text, "no") == 0    ? 10000
           : strcmp(text, "yes") == 0 ? 1000
                                      : strtoul(text, NULL, 10);
}

static void check_guard(const struct runtime_options *r, const char *text)
{
    int edges = strcmp(text, "end") == 0 ? 1 : strcmp(text, "start") == 0 ? 2 : 0;
    unsigned long every = strcmp(text, "no") == 0                  ? 0
                          : strcmp(text, "all") == 0 || edges != 0 ? 1
                          : strcmp(text, "auto") == 0              ? 1000
                                                                   : strtoul(text, NULL, 10);
    must(r->guard_every == every && r->guard_is_limited == (strcmp(text, "auto") == 0) &&
             r->guard_edges == edges,
         "guard is the same");
}

static void check_guard_stacks(const struct runtime_options *r, const char *text)
{
    const char *last = strrchr(text, ',');
    unsigned count = *text != '\0';
    for (const char *s = text; *s; s++)
        count += *s == ',';
    must(r->guard_stacks == count, "guard-stacks has as many");
    last = last ? last + 1 : text;
    if (count)
        must(r->guard_key == strtoull(last, NULL, 16) &&
                 r->guard_gap == strtoul(strchr(last, '.') + 2, NULL, 10),
             "guard-stacks is the same");
}

static void check_runtime(const struct options *o, const char *text)
{
    struct runtime_options r = runtime_options_read(text);
    static const char *const words[] = {"continue", "stop", "abort", "debugger", "exit"};
    static const char *const forks[] = {"shared", "private", "copy", "auto"};
    static const char *const fds[] = {"no", "bad", "yes", "all"};
    const char *dir = option_text(o, "pool-dir"), *skip = option_text(o, "trace-children-skip"),
               *access = option_text(o, "access"), *plans = option_text(o, "plans"),
               *fork = option_text(o, "fork"); /* libvmmalloc's number is kept */

    must(r.trace_children == option_flag(o, "trace-children"), "trace-children is the same");
    must(r.leaks == option_flag(o, "leaks"), "leaks is the same");
    must(r.leak_check == (strcmp(option_text(o, "leak-check"), "no") != 0),
         "leak-check is the same");
    must(r.mel_at_exit == (strcmp(option_text(o, "rtc-mel-at-exit"), "off") != 0),
         "rtc-mel-at-exit is the same");
    must(r.run_libc_freeres == option_flag(o, "run-libc-freeres"), "run-libc-freeres is the same");
    must(r.run_cxx_freeres == option_flag(o, "run-cxx-freeres"), "run-cxx-freeres is the same");
    must(r.strict_interior == option_flag(o, "strict-interior"), "strict-interior is the same");
    must(r.error_exitcode == (int)option_number(o, "error-exitcode", (unsigned)-1),
         "error-exitcode is the same");
    must(r.witness == option_flag(o, "witness"), "witness is the same");
    must(r.keep == option_flag(o, "keep"), "keep is the same");
    must(r.heap_in_file == (strcmp(option_text(o, "heap"), "file") == 0), "heap is the same");
    must(r.all_events == (strcmp(option_text(o, "events"), "all") == 0), "events is the same");
    must(r.heap_bytes == option_size(o, "pool-size"), "pool-size is the same");
    must(strcmp(forks[r.fork], fork) == 0 || (*fork == '0' + r.fork && !fork[1]),
         "fork is the same");
    must(r.error_limit == limit_of(option_text(o, "error-limit")), "error-limit is the same");
    must(strcmp(words[r.on_error], option_text(o, "on-error")) == 0, "on-error is the same");
    must(strcmp(fds[r.track_fds], option_text(o, "track-fds")) == 0, "track-fds is the same");
    must(r.access == (strcmp(access, "no") != 0) && r.access_full == (strcmp(access, "full") == 0),
         "access is the same");
    must(strlen(plans) >= sizeof r.plans || strcmp(r.plans, plans) == 0, "plans is the same");
    check_guard(&r, option_text(o, "guard"));
    check_guard_stacks(&r, option_text(o, "guard-stacks"));
    must(r.access_every == option_number(o, "access-every", 16), "access-every is the same");
    must(r.frames == strtoul(option_text(o, "frames"), NULL, 10), "frames is the same");
    must(r.quarantine_bytes == option_size(o, "freelist-vol"), "freelist-vol is the same");
    must(r.malloc_fill == fill_of(o, "malloc-fill"), "malloc-fill is the same");
    must(r.free_fill == fill_of(o, "free-fill"), "free-fill is the same");
    must(strlen(dir) >= sizeof r.pool_dir || strcmp(r.pool_dir, dir) == 0, "pool-dir is the same");
    must(strlen(skip) >= sizeof r.skip || strcmp(r.skip, skip) == 0,
         "trace-children-skip is the same");
}

/* The canonical text is parsed to the same options. */
static void check_canonical(const struct options *o)
{
    char first[OPTIONS_TEXT_BYTES], second[OPTIONS_TEXT_BYTES];
    struct options again;

    *err = '\0';
    if (options_canonical(o, first, err) != 0) {
        must(*err != '\0', "a refusal says why");
        return;
    }
    options_init(&again);
    must(options_from_text(&again, first, err) == 0, "canonical text is understood");
    must(options_canonical(&again, second, err) == 0 && strcmp(first, second) == 0,
         "canonical text is read as what it was");
    check_runtime(&again, first);
    options_free(&again);
}

static void check_log_file(const struct options *o)
{
    struct log_facts facts = {.program = "/bin/prog", .pid = 4711, .image = 1};
    char path[64];

    *err = '\0';
    if (log_path_expand(option_text(o, "log-file"), &facts, path, sizeof path, err) != 0)
        must(*err != '\0', "a refusal says why");
    else
        must(strlen(path) < sizeof path, "a path ends");
}

/* ---- inputs --------------------------------------------------------------------------------- */

static void fuzz_text(const char *text)
{
    struct options o;

    options_init(&o);
    runtime_options_read(text);
    *err = '\0';
    if (options_from_text(&o, text, err) == 0) {
        check_runtime(&o, text);
        check_canonical(&o);
        check_log_file(&o);
    } else {
        must(*err != '\0', "a refusal says why");
    }
    options_free(&o);
}

/* Cuts `text` into words; the last one ends where it ends. */
static int take_words(char *text, size_t bytes, char *argv[WORDS_MAX + 2])
{
    int argc = 1;

    for (char *at = text; at < text + bytes && argc <= WORDS_MAX; at += strlen(at) + 1)
        argv[argc++] = at;
    argv[argc] = NULL;
    return argc;
}

static void fuzz_words(char *text, size_t bytes)
{
    char *argv[WORDS_MAX + 2] = {(char[]){"rtcheck"}};
    int argc = take_words(text, bytes, argv);
    struct options o;
    int rest = -1;

    options_init(&o);
    *err = '\0';
    if (options_from_args(&o, argc, argv, &rest, err) == 0) {
        must(rest >= 1 && rest <= argc, "the rest is in the arguments");
        check_canonical(&o);
    } else {
        must(*err != '\0', "a refusal says why");
    }
    options_free(&o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size < INPUT_MAX ? size : INPUT_MAX};
    bool are_words = input_number(&in, 1) == '-';
    size_t bytes = in.left;
    char *text = calloc(1, bytes + 1); /* as long as it is: the sanitizer guards its end */

    must(text != NULL, "there is memory");
    input_copy(&in, text, bytes);
    if (are_words)
        fuzz_words(text, bytes);
    else
        fuzz_text(text);
    free(text);
    return 0;
}
