/*
 * write_file.c - write the report to files beside the text, one printer for each format.
 */
#include "formats_priv.h"

typedef void printer(struct report *r, FILE *out, const struct print_options *how);

struct printing {
    struct report *r;
    printer *print;
    const struct print_options *how;
};

static int print_to(FILE *out, void *printing)
{
    const struct printing *p = printing;

    p->print(p->r, out, p->how);
    return 0;
}

static printer *const printers[REPORT_FILE_COUNT] = {
    [REPORT_JSON] = json_print,     [REPORT_SARIF] = sarif_print,      [REPORT_JUNIT] = junit_print,
    [REPORT_GITLAB] = gitlab_print, [REPORT_XML] = valgrind_xml_print,
};

void report_print_file(struct report *r, enum report_file what, FILE *out,
                       const struct print_options *how)
{
    printers[what](r, out, how);
}

int report_write(struct report *r, enum report_file what, const char *path,
                 const struct print_options *how)
{
    struct printing p = {r, printers[what], how};

    return write_whole(path, print_to, &p);
}

int report_write_by(const char *path, int (*put)(FILE *out, void *arg), void *arg)
{
    return write_whole(path, put, arg);
}

int report_write_check(const char *path)
{
    return write_whole_check(path);
}
