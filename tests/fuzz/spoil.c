/*
 * spoil.c - edits of a good run file, from a fuzzer's input.
 *
 * An edit has a kind, a structure of the file, an offset from its beginning, and its operands.
 * Edits of bytes would suffice, but would hardly ever produce a value just beyond a limit.
 */
#include "spoil.h"

#include <sys/mman.h>
#include <unistd.h>

#define EDITS_MAX 40
#define FILL_MAX 4096

enum edit {
    EDIT_PUT,   /* bytes */
    EDIT_SET,   /* a small number, as ids and counts are */
    EDIT_ADD,   /* a small number to one that is there: just beyond a limit */
    EDIT_FILL,  /* many equal bytes: text without end */
    EDIT_COPY,  /* one structure over another */
    EDIT_FLIP,  /* a bit */
    EDIT_CUT,   /* the file's length */
    EDIT_PAUSE, /* the following edits come when the file is open */
    EDIT_COUNT
};

/* Usually one of a structure's first fields. */
#define FIELDS 56
#define FIELD_BYTES 4
#define FAR 224 /* steps from here on are wide */
#define FAR_BYTES 64

static uint64_t take_place(struct input *in, const struct run_base *base)
{
    uint64_t anchor = base->anchors[input_number(in, 1) % base->anchor_count];
    uint64_t step = input_number(in, 1);

    return anchor + (step < FAR ? step % FIELDS * FIELD_BYTES : (step - FAR + 1) * FAR_BYTES);
}

static void put(int fd, const void *bytes, size_t n, uint64_t at)
{
    must(pwrite(fd, bytes, n, (off_t)at) == (ssize_t)n, "the file can be written");
}

/* Bytes behind the file's end are zeros. */
static void get(int fd, void *to, size_t n, uint64_t at)
{
    memset(to, 0, n);
    must(pread(fd, to, n, (off_t)at) >= 0, "the file can be read");
}

static void edit_put(int fd, struct input *in, uint64_t at)
{
    uint8_t bytes[32] = {0};
    size_t n = 1 + input_number(in, 1) % sizeof bytes;

    input_copy(in, bytes, n);
    put(fd, bytes, n, at);
}

static void edit_set(int fd, struct input *in, uint64_t at)
{
    uint32_t n = (uint32_t)input_number(in, 1);
    put(fd, &n, sizeof n, at);
}

static void edit_add(int fd, struct input *in, uint64_t at)
{
    unsigned how = (unsigned)input_number(in, 1);
    uint64_t n;

    get(fd, &n, sizeof n, at);
    n += (uint64_t)(int8_t)input_number(in, 1) << (how & 31);
    put(fd, &n, how & 32 ? 4 : sizeof n, at);
}

static void edit_fill(int fd, struct input *in, uint64_t at)
{
    char bytes[FILL_MAX];
    size_t n = 1 + input_number(in, 1) * 16;

    memset(bytes, (int)input_number(in, 1), n);
    put(fd, bytes, n, at);
}

static void edit_copy(int fd, struct input *in, uint64_t from, uint64_t at)
{
    char bytes[FILL_MAX];
    size_t n = 8 + input_number(in, 1) * 8;

    get(fd, bytes, n, from);
    put(fd, bytes, n, at);
}

static void edit_flip(int fd, struct input *in, uint64_t at)
{
    unsigned bit = (unsigned)input_number(in, 1) % 64;
    uint64_t n;

    get(fd, &n, sizeof n, at);
    n ^= 1ull << bit;
    put(fd, &n, sizeof n, at);
}

/* false: a pause, or the input has ended. */
static bool edit_once(int fd, struct input *in, const struct run_base *base)
{
    enum edit what = input_number(in, 1) % EDIT_COUNT;
    uint64_t at;

    if (in->left == 0 || what == EDIT_PAUSE)
        return false;
    at = take_place(in, base);
    if (what == EDIT_PUT)
        edit_put(fd, in, at);
    else if (what == EDIT_SET)
        edit_set(fd, in, at);
    else if (what == EDIT_ADD)
        edit_add(fd, in, at);
    else if (what == EDIT_FILL)
        edit_fill(fd, in, at);
    else if (what == EDIT_COPY)
        edit_copy(fd, in, take_place(in, base), at);
    else if (what == EDIT_FLIP)
        edit_flip(fd, in, at);
    else
        must(ftruncate(fd, (off_t)at) == 0, "the file can be cut");
    return true;
}

void run_file_spoil(int fd, struct input *in, const struct run_base *base)
{
    for (int i = 0; i < EDITS_MAX && edit_once(fd, in, base); i++)
        ;
}

/* The same file again and again: emptied, and the base's pages put into it. */
int run_file_begin(const struct run_base *base)
{
    static int fd = -1;

    if (fd < 0)
        fd = memfd_create("fuzz", MFD_CLOEXEC);
    must(fd >= 0 && ftruncate(fd, 0) == 0 && ftruncate(fd, (off_t)base->bytes) == 0,
         "a file can be made");
    for (unsigned i = 0; i < base->page_count; i++)
        put(fd, base->file + base->pages[i], 4096, base->pages[i]);
    return fd;
}
