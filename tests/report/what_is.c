/*
 * what_is.c - what_is FILE OFFSET...: one line for each, "name+offset file:line section".
 */
/* rtc-build: report */
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "variables.h"

static void print_answer(struct report *r, uint32_t module, uint64_t offset)
{
    struct variable v;

    if (!variable_find(r, module, offset, &v)) {
        puts("-");
        return;
    }
    printf("%s+%llu %s:%d %s\n", v.name ? v.name : "-", (unsigned long long)v.offset,
           v.file ? base_name(v.file) : "-", v.line, v.section ? v.section : "-");
    variable_free(&v);
}

int main(int argc, char **argv)
{
    struct report r = {0};
    struct module_record m = {0};
    uint32_t module;

    if (argc < 2)
        return 1;
    snprintf(m.path, sizeof m.path, "%s", argv[1]);
    module = module_intern(&r, &m, 1);
    for (int i = 2; i < argc; i++)
        print_answer(&r, module, strtoull(argv[i], NULL, 0));
    helper_end(&r);
    symbols_free(&r);
    sites_free(&r);
    return 0;
}
