/*
 * heap_info.c - statistics and tuning functions of malloc.  glibc's own versions would describe an
 * unused heap.
 */
#include "intercept.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <string.h>

EXPORT struct mallinfo2 mallinfo2(void)
{
    struct track_totals sum = track_totals();
    struct mallinfo2 info = {0};
    info.arena = sum.heap_bytes;
    info.uordblks = sum.live_bytes;
    info.fordblks = sum.heap_bytes > sum.live_bytes ? sum.heap_bytes - sum.live_bytes : 0;
    info.keepcost = sum.free_bytes;
    info.ordblks = 1;
    return info;
}

static struct mallinfo narrow(struct mallinfo2 wide)
{
    struct mallinfo info = {0};
    info.arena = (int)wide.arena;
    info.uordblks = (int)wide.uordblks;
    info.fordblks = (int)wide.fordblks;
    info.keepcost = (int)wide.keepcost;
    info.ordblks = (int)wide.ordblks;
    return info;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
EXPORT struct mallinfo mallinfo(void)
{
    return narrow(mallinfo2());
}
#pragma GCC diagnostic pop

EXPORT struct mallinfo __libc_mallinfo(void);
EXPORT struct mallinfo __libc_mallinfo(void)
{
    return narrow(mallinfo2());
}

static void line(struct text *t, const char *what, uint64_t n, const char *after)
{
    text_put(t, what);
    text_decimal(t, n);
    text_put(t, after);
}

/* The document has glibc's format, with our totals. */
static size_t xml(char *buffer, size_t room)
{
    struct track_totals sum = track_totals();
    struct text t = text_begin(buffer, room);
    text_put(&t, "<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n");
    line(&t, "<system type=\"current\" size=\"", sum.heap_bytes, "\"/>\n</heap>\n");
    line(&t, "<total type=\"rest\" count=\"", sum.live_blocks, "\" ");
    line(&t, "size=\"", sum.live_bytes, "\"/>\n");
    line(&t, "<system type=\"current\" size=\"", sum.heap_bytes, "\"/>\n</malloc>\n");
    return (size_t)(text_end(&t) - buffer);
}

/* Write to a stream of the program's stdio; NULL: its stderr.  Returns 0 or an error number. */
static int write_to(FILE *out, const char *text, size_t n)
{
    size_t (*write)(const void *, size_t, size_t, FILE *);
    void *f = dlsym(RTLD_DEFAULT, "fwrite");
    FILE **standard = dlsym(RTLD_DEFAULT, "stderr");
    memcpy(&write, &f, sizeof write);
    if (!write || (!out && !standard))
        return EINVAL;
    return write(text, 1, n, out ? out : *standard) == n ? 0 : errno;
}

EXPORT int malloc_info(int options, FILE *out)
{
    char buffer[1024];
    return options == 0 ? write_to(out, buffer, xml(buffer, sizeof buffer)) : EINVAL;
}

#define NUMBER_WIDTH 10u

static void row(struct text *t, const char *what, uint64_t n)
{
    unsigned width = 1;
    for (uint64_t rest = n; rest >= 10; rest /= 10)
        width++;
    text_put(t, what);
    for (; width < NUMBER_WIDTH; width++)
        text_put(t, " ");
    line(t, "", n, "\n");
}

static void rows_of_heap(struct text *t, const char *title, const struct track_totals *sum)
{
    text_put(t, title);
    row(t, "system bytes     = ", sum->heap_bytes);
    row(t, "in use bytes     = ", sum->live_bytes);
}

/* glibc's format: one arena, no blocks in mappings of their own. */
EXPORT void malloc_stats(void)
{
    struct track_totals sum = track_totals();
    char buffer[512];
    struct text t = text_begin(buffer, sizeof buffer);
    rows_of_heap(&t, "Arena 0:\n", &sum);
    rows_of_heap(&t, "Total (incl. mmap):\n", &sum);
    row(&t, "max mmap regions = ", 0);
    row(&t, "max mmap bytes   = ", 0);
    write_to(NULL, buffer, (size_t)(text_end(&t) - buffer));
}

EXPORT int malloc_trim(size_t pad)
{
    (void)pad;
    return 0; /* free runs of more than a few MiB are released at once */
}

EXPORT int mallopt(int parameter, int value)
{
    (void)parameter;
    (void)value;
    return 1; /* accepted: glibc's parameters have no counterpart here */
}
