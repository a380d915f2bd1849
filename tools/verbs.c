/* verbs.c - the verbs of the command; reads the command line of a verb, then calls it. */
#include <string.h>

#include "format/bits.h"
#include "tools.h"

static const struct verb *const verbs[] = {
    &verb_run,       &verb_report, &verb_show,     &verb_suppress, &verb_list,
    &verb_pack,      &verb_events, &verb_stat,     &verb_check,    &verb_dump,
    &verb_translate, &verb_plans,  &verb_selftest,
};

const struct verb *verb_named(const char *name)
{
    for (unsigned i = 0; i < countof(verbs); i++)
        if (strcmp(name, verbs[i]->name) == 0)
            return verbs[i];
    return NULL;
}

const struct verb *verb_at(unsigned i)
{
    return i < countof(verbs) ? verbs[i] : NULL;
}

/* The word that the usage begins with: the usage has the verb. */
static const char *command_of(const struct verb *verb)
{
    return verb->is_valgrind ? "rtcheck-valgrind" : "rtcheck";
}

static int refuse(const struct verb *verb, const char *err)
{
    int status = print_failure(err);
    return verb->is_valgrind ? STATUS_VALGRIND_USAGE : status;
}

int print_usage(const struct verb *verb)
{
    fprintf(stderr, "rtcheck: usage: %s %s\n", command_of(verb), verb->usage);
    return verb->is_valgrind ? STATUS_VALGRIND_USAGE : STATUS_SETUP;
}

/* The help of `run` is that of the command: it has the usage of all verbs. */
static int print_help(const struct verb *verb, const char *which)
{
    if (strcmp(which, "valgrind") == 0 || strcmp(which, "sanitizers") == 0) {
        imported_options_print(strcmp(which, "valgrind") == 0, stdout);
        return fflush(stdout) != 0 || ferror(stdout) ? STATUS_SETUP : 0;
    }
    printf("usage: %s %s\n", command_of(verb), verb->usage);
    for (unsigned i = 0; verb == &verb_run && i < countof(verbs); i++)
        if (verbs[i] != verb)
            printf("       rtcheck %s\n", verbs[i]->usage);
    printf("\n%s\n\n", verb->about);
    if (options_print(verb, strcmp(which, "all") == 0, stdout))
        printf("  %-25sall other options\n", "--help=all");
    if (verb->notes)
        printf("\n%s\n", verb->notes);
    return fflush(stdout) != 0 || ferror(stdout) ? STATUS_SETUP : 0;
}

static bool takes(const struct verb *verb, int operands)
{
    return operands >= verb->least && (verb->most == OPERANDS_ANY || operands <= verb->most);
}

int verb_do(const struct verb *verb, int argc, char **argv)
{
    char err[TOOLS_ERROR_BYTES];
    struct options o;
    int rest, status;

    options_init(&o);
    if (options_gather(&o, verb, argc, argv, &rest, err))
        status = refuse(verb, err);
    else if (strcmp(option_text(&o, "help"), "no") != 0)
        status = print_help(verb, option_text(&o, "help"));
    else if (option_is_given(&o, "version") && option_flag(&o, "version"))
        status = print_version();
    else if (!takes(verb, argc - rest))
        status = print_usage(verb);
    else
        status = verb->act(&o, argc - rest, argv + rest);
    options_free(&o);
    return status;
}
