/* print_files.c - files that are written besides the text. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/bits.h"
#include "options.h"

/* Options with the path of a file. */
static const char *const names[] = {[REPORT_JSON] = "json",
                                    [REPORT_SARIF] = "sarif",
                                    [REPORT_JUNIT] = "junit",
                                    [REPORT_GITLAB] = "gitlab"};

bool xml_wanted(const struct options *o)
{
    bool has_place = *option_text(o, "xml-file") || option_is_given(o, "xml-fd");

    return option_is_given(o, "xml") ? option_flag(o, "xml") : has_place;
}

static int xml_path(struct report *r, const struct options *o, char path[PATH_MAX],
                    char err[TOOLS_ERROR_BYTES])
{
    struct report_image_fact main = {0};
    struct log_facts facts = {"", 0, 0};

    if (r) {
        main = report_main_image(r);
        facts = (struct log_facts){main.exe ? main.exe : "", (pid_t)main.pid, main.image};
    }
    return log_path_expand(option_text(o, "xml-file"), &facts, path, PATH_MAX, err);
}

static int print_xml_to(struct report *r, int fd, const struct print_options *how,
                        char err[TOOLS_ERROR_BYTES])
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    int bad = out ? 0 : -ENOMEM;

    if (out) {
        report_print_file(r, REPORT_XML, out, how);
        bad = fclose(out) != 0 ? -ENOMEM : text_write(fd, text, bytes);
    }
    free(text);
    return bad ? fail(err, bad, "XML cannot be written to %d: %s", fd, strerror(-bad)) : 0;
}

/* As memcheck: a file or a descriptor.  Without results only a file of earlier runs is removed. */
static int print_xml(struct report *r, const struct options *o, const struct print_options *how,
                     char err[TOOLS_ERROR_BYTES])
{
    char path[PATH_MAX];
    int bad;

    if (!xml_wanted(o))
        return 0;
    if (!*option_text(o, "xml-file"))
        return r ? print_xml_to(r, (int)option_number(o, "xml-fd", 2), how, err) : 0;
    bad = xml_path(r, o, path, err);
    if (!bad && !r)
        unlink(path);
    else if (!bad && (bad = report_write(r, REPORT_XML, path, how)) != 0)
        fail(err, bad, "%s cannot be written: %s", path, strerror(-bad));
    return bad;
}

static int check_writable(const char *path, char err[TOOLS_ERROR_BYTES])
{
    int bad = report_write_check(path);

    return bad ? fail(err, bad, "%s cannot be written: %s", path, strerror(-bad)) : 0;
}

static int check_pool(const char *path, char err[TOOLS_ERROR_BYTES])
{
    int bad = *path ? report_save_whole_check(path) : 0;

    return bad ? fail(err, bad, "%s cannot be written: %s", path, strerror(-bad)) : 0;
}

int check_files(const struct options *o, char err[TOOLS_ERROR_BYTES])
{
    const char *xml = option_text(o, "xml-file");
    int bad = xml_wanted(o) && *xml && !strchr(xml, '%') ? check_writable(xml, err) : 0;

    for (unsigned i = 0; !bad && i < countof(names); i++)
        if (*option_text(o, names[i]))
            bad = check_writable(option_text(o, names[i]), err);
    return bad ? bad : check_pool(option_text(o, "keep-pool"), err);
}

int write_pool(const struct options *o, int fd, char err[TOOLS_ERROR_BYTES])
{
    const char *path = option_text(o, "keep-pool");
    int bad = !*path ? 0 : fd < 0 ? -ENODATA : report_save_whole(fd, path);

    if (bad == -ENODATA && report_save_whole_check(path) == 0)
        unlink(path); /* else an earlier run's file would be taken for this run's */
    return bad && bad != -ENODATA ? fail(err, bad, "%s cannot be written: %s", path, strerror(-bad))
                                  : 0;
}

int print_files(struct report *r, const struct options *o, const struct print_options *how,
                char err[TOOLS_ERROR_BYTES])
{
    int first = print_xml(r, o, how, err);

    for (unsigned i = 0; i < countof(names); i++) {
        const char *path = option_text(o, names[i]);
        int bad = !*path ? 0 : r ? report_write(r, i, path, how) : -ENODATA;
        if (bad == -ENODATA)
            unlink(path); /* else an earlier run's file would be taken for this run's */
        if (bad && !first)
            first = fail(err, bad, "%s cannot be written: %s", path, strerror(-bad));
    }
    return first;
}

void print_annotations(struct report *r, const struct options *o, const struct print_options *how,
                       FILE *out)
{
    const char *page = getenv("GITHUB_STEP_SUMMARY");
    struct print_options commands = *how;
    FILE *summary = page && *page && annotations_wanted(o) ? fopen(page, "ae") : NULL;

    commands.format = PRINT_GITHUB;
    if (annotations_wanted(o) && how->format != PRINT_GITHUB)
        report_print_text(r, out, &commands);
    if (!summary)
        return;
    report_print_summary(r, summary, how);
    fclose(summary);
}
