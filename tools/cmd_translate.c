/*
 * cmd_translate.c - `rtcheck translate [-o PLAN] OBJECT`: translate the code of a program or
 * shared object into a copy that checks its loads and stores, and print what it contains.
 */
#include <errno.h>
#include <string.h>

#include "format/bits.h"
#include "tools.h"
#include "translate.h"

static const char *const states[] = {
#define STATE(id, code, text) [PLAN_##id] = text,
#include "format/plan_states.def"
#undef STATE
};
static_assert(countof(states) == PLAN_STATE_COUNT, "each state has its text");

static void print_line(const char *name, uint64_t value)
{
    printf("  %-36s%12llu\n", name, (unsigned long long)value);
}

static void print_statistics(const struct plan_statistics *s)
{
    char name[64];

    printf("bytes of code:\n");
    print_line(states[PLAN_TRANSLATED], s->function_bytes[PLAN_TRANSLATED]);
    for (unsigned n = PLAN_TRANSLATED + 1; n < PLAN_STATE_COUNT; n++)
        if (s->function_bytes[n] > 0) {
            snprintf(name, sizeof name, "native, %s", states[n]);
            print_line(name, s->function_bytes[n]);
        }
    print_line("native, without an FDE", s->outside_bytes);
    print_line("copy", s->body_bytes);
    printf("instructions:\n");
    print_line("translated", s->instructions);
    print_line("that access memory", s->accesses);
    print_line("checked", s->checks);
    print_line("  with a spilled register", s->register_spills);
    print_line("  with saved flags", s->flag_saves);
    print_line("not checked: relative to rsp", s->by_stack);
    print_line("not checked: fixed address", s->by_pc);
    print_line("not checked: thread-local", s->by_segment);
    print_line("not checked: string instruction", s->string);
    print_line("not checked: other", s->uncheckable);
    printf("entries from other code:\n");
    print_line("jumps", s->jumps);
    print_line("short jumps", s->short_jumps);
    print_line("traps", s->traps);
}

static int write_plan(struct plan *p, const char *path, char err[TOOLS_ERROR_BYTES])
{
    int bad = *path ? report_write_by(path, plan_write, p) : 0;

    return bad ? fail(err, bad, "%.300s cannot be written: %s", path, strerror(-bad)) : 0;
}

static int check_patterns(const char *list, char err[TOOLS_ERROR_BYTES])
{
    return pattern_count(list) > PATTERNS_MOST
               ? fail(err, -EINVAL, "option access-skip: more than %u patterns", PATTERNS_MOST)
               : 0;
}

static int translate(struct options *o, int count, char **operands)
{
    const struct translation how = {.spill = SPILL_DEFAULT, .skip = option_text(o, "access-skip")};
    char err[TOOLS_ERROR_BYTES];
    struct plan *p = NULL;
    int bad = check_patterns(how.skip, err);

    (void)count;
    if (!bad)
        bad = translate_object(&p, operands[0], &how, err);
    if (!bad)
        bad = write_plan(p, option_text(o, "output"), err);
    if (!bad)
        print_statistics(plan_statistics(p));
    plan_free(p);
    return bad ? print_failure(err) : 0;
}

static const struct option_info options[] = {
    OPTION_ROW("output", PATH, "", "write the plan to this file (-o)", NULL),
    OPTION_ROW("access-skip", NAMES, "",
               "PATTERN,...: functions that stay native, as the option of a run", NULL),
    OPTION_HELP,
};

const struct verb verb_translate = {
    .name = "translate",
    .usage = "translate [-o PLAN] OBJECT",
    .about = "Translates the code of a program or shared object into a copy that checks\n"
             "its loads and stores, and prints how much of it is translated and checked.",
    .options = options,
    .option_count = countof(options),
    .least = 1,
    .most = 1,
    .act = translate,
};
