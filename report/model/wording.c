/*
 * wording.c - names of things: of the numbers in a run file, of images and their programs.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "model.h"

const char *cost_work_name(uint32_t work)
{
    static const char *const names[] = {"allocate", "free",       "resize", "events",
                                        "unwind",   "quarantine", "scan",   "start"};
    static_assert(countof(names) == COST_WORK_COUNT, "a name for each");
    return work < countof(names) ? names[work] : "?";
}

const char *how_name(uint32_t how)
{
    static const char *const names[] = {
        [IMAGE_ROOT] = "root",
        [IMAGE_FORK] = "fork",
        [IMAGE_EXEC] = "exec",
        [IMAGE_FORK_UNSEEN] = "fork_unseen",
    };
    return how < countof(names) && names[how] ? names[how] : "unknown";
}

const char *error_code(uint32_t kind)
{
    static const char *const codes[] = {
#define ERROR(id, value, class, code, ...) [ERROR_##id] = code,
#include "format/findings.def"
    };
    return kind < countof(codes) && codes[kind] ? codes[kind] : "unknown";
}

const char *stack_end_text(uint32_t end)
{
    static const char *const texts[] = {
        [STACK_WHOLE] = "the thread began there",
        [STACK_CUT] = "deeper than is kept",
        [STACK_NO_INFO] = "code without call frame information",
        [STACK_OFF_STACK] = "the next frame is not on the stack",
        [STACK_BUDGET] = "the depot is full",
        [SITE_LOST] = "not in the file",
    };
    static_assert(countof(texts) == SITE_LOST + 1, "each has its words");
    return end < countof(texts) ? texts[end] : "unknown";
}

const char *module_symbols_text(enum module_symbols symbols)
{
    static const char *const texts[] = {
        [SYMBOLS_UNTRIED] = "not looked for",
        [SYMBOLS_NO_FILE] = "no file",
        [SYMBOLS_NOT_TRUSTED] = "file not trusted",
        [SYMBOLS_ANOTHER_BUILD] = "another build",
        [SYMBOLS_UNREADABLE] = "unreadable",
        [SYMBOLS_EXPORTED] = "exported",
        [SYMBOLS_NAMES] = "names",
        [SYMBOLS_LINES] = "lines",
    };
    static_assert(countof(texts) == SYMBOLS_COUNT, "each has its words");
    return texts[symbols];
}

static bool is_key(const char *text, const char *key)
{
    while (*key && (*text == *key || (*text == '-' && *key == '_'))) {
        text++;
        key++;
    }
    return !*key && *text == '=';
}

const char *run_setting(const struct run_header *run, const char *key)
{
    const char *found = NULL;

    for (const char *at = run->options; *at; at += strcspn(at, ": "), at += strspn(at, ": "))
        if (is_key(at, key))
            found = at + strlen(key) + 1;
    return found;
}

const char *end_name(const struct report *r, const struct image *image)
{
    static const char *const names[] = {
        [END_UNKNOWN] = "unknown",       [END_EXIT] = "exit", [END_EXIT_NOW] = "_exit",
        [END_QUICK_EXIT] = "quick_exit", [END_EXEC] = "exec",
    };

    if (image_was_replaced(image))
        return "exec";
    if (image->wait_status != -1 && WIFSIGNALED(image->wait_status))
        return "killed";
    if (image->state == IMAGE_ENDING)
        return image->end_how < countof(names) ? names[image->end_how] : "unknown";
    return image_seems_alive(r, image) ? "running" : "killed";
}

const char *feature_name(unsigned n)
{
    static const char *const names[] = {
#define FEATURE(id, name) name,
#include "format/features.def"
#undef FEATURE
    };
    return n < countof(names) ? names[n] : NULL;
}

const char *argv_next(const struct image *image, const char *arg)
{
    const char *next = arg ? arg + strlen(arg) + 1 : image->argv;
    return next < image->argv + image->argv_bytes ? next : NULL;
}

const char *program_path(const struct report *r, uint32_t number)
{
    const struct image *image = image_of(r, number);
    return image ? image->exe : "";
}

const char *why_unchecked(const struct image *image)
{
    if (image->refused)
        return "what was recorded of the program is damaged";
    return image->flags & IMAGE_OWN_MALLOC ? "the program brought a malloc of its own"
                                           : "the program's malloc was not seen to be ours";
}

const char *program_name(const struct image *image)
{
    const char *arg = argv_next(image, NULL);

    if (image->exe[0])
        return base_name(image->exe);
    return arg && arg[0] ? base_name(arg) : image->name[0] ? image->name : "?";
}

const char *entry_name(uint32_t entry)
{
    static const char *const names[] = {
        NULL,
#define ENTRY(id, name) name,
#include "format/entries.def"
#undef ENTRY
    };
    return entry < countof(names) ? names[entry] : NULL;
}

const char *family_name(uint32_t family)
{
    static const char *const names[] = {"malloc",   "new",         "new[]",
                                        "memalign", "aligned new", "aligned new[]"};
    static_assert(countof(names) == FAMILY_COUNT, "each has its name");
    return family < countof(names) ? names[family] : "unknown";
}
