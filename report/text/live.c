/*
 * live.c - errors as they happen: a line for each while the run continues.
 *
 * The run's head counts error sites, so polling costs nothing while there are no errors. When the
 * count has changed, the file is read as at the end, into a temporary report: data of a running
 * process is soon out of date. After LIVE_LINES lines, further errors are left to the report at the
 * end.
 */
#include <stdatomic.h>
#include <string.h>

#include "text.h"

static_assert(sizeof(((struct live *)0)->ids[0]) == ID_BYTES, "each has room");

static void line_put(struct report *r, struct error *e, const struct page *page)
{
    const struct image *image = image_of(r, e->image);

    fprintf(page->out, "rtcheck: %u: ", image ? image->pid : 0);
    error_print_line(r, e, page);
}

/* Errors are distinguished by id, not by time: a process may record an older one later. */
static bool was_printed(const struct live *l, const struct error *e)
{
    for (uint32_t i = 0; i < l->lines && i < LIVE_LINES; i++)
        if (strcmp(l->ids[i], e->id) == 0)
            return true;
    return false;
}

static void new_errors_put(struct report *r, struct live *l, const struct page *page)
{
    for (uint32_t i = 0; i < r->error_count; i++) {
        struct error *e = &r->errors[i];
        if (!error_is_shown(e) || is_hidden(&e->disposition) || was_printed(l, e))
            continue;
        if (l->lines == LIVE_LINES) {
            fputs("rtcheck: there are more: at the end\n", page->out);
            l->lines++;
            return;
        }
        strcpy(l->ids[l->lines++], e->id);
        line_put(r, e, page);
    }
}

void report_live(struct live *l, int fd, FILE *out, const struct print_options *how)
{
    struct page page = page_of(out, how, "");
    char err[REPORT_ERROR_BYTES];
    struct report *r;
    uint32_t count;

    if (l->lines > LIVE_LINES || report_open_fd(&r, fd, "the run", err))
        return;
    r->is_mangled = how->mangled;
    count = atomic_load_explicit(&r->view.run->error_sites, memory_order_relaxed);
    if (count != l->places && report_collect(r, err) == 0) {
        l->places = count;
        findings_match(r, how);
        errors_name(r, r->error_count);
        new_errors_put(r, l, &page);
    }
    report_close(r);
}
