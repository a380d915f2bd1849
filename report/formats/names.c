/*
 * names.c - names of a run, for packs: read all that a report may print, print one.
 *
 * The report itself decides which names it may print: so it is printed in full, and dropped.
 */
#include "formats_priv.h"

void report_names_read(struct report *r)
{
    const struct print_options how = {.use = PRINT_USE_STACKS,
                                      .leaks = PRINT_LEAKS_RECORDS,
                                      .leak_kinds = UINT32_MAX,
                                      .problem_kinds = UINT32_MAX,
                                      .mappings = true,
                                      .all = true};
    FILE *out = fopen("/dev/null", "we");

    for (uint32_t i = 0; i < r->site_count; i++)
        symbolize_site(r, i);
    if (!out)
        return;
    report_print_text(r, out, &how);
    json_print(r, out, &how);
    report_print_events(r, 0, out);
    fclose(out);
}

void report_put_name(FILE *out, const char *name)
{
    text_put(out, name);
}
