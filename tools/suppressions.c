/*
 * suppressions.c - the rules that the options ask for: what is there by default, then the files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools.h"

/* One a line. */
static int files_read(struct rules *rules, const char *list, char err[TOOLS_ERROR_BYTES])
{
    char *copy = strdup(list), *rest = copy;
    int bad = copy ? 0 : fail(err, -ENOMEM, "out of memory");

    while (!bad && rest) {
        const char *path = strsep(&rest, "\n");
        if (*path)
            bad = rules_read_file(rules, path, err, TOOLS_ERROR_BYTES);
    }
    free(copy);
    return bad;
}

int suppressions_read(const struct options *o, struct rules **out, char err[TOOLS_ERROR_BYTES])
{
    struct rules *rules = rules_new();
    int bad;

    if (option_flag(o, "default-suppressions"))
        rules_add_default(rules);
    bad = files_read(rules, option_text(o, "suppressions"), err);
    if (bad) {
        rules_free(rules);
        return bad;
    }
    rules_seal(rules);
    *out = rules;
    return 0;
}
