/*
 * uninitialised.c - calls that read memory which was not written since its allocation.
 *
 *   uninitialised CASE [set]   run one case; set: its memory is written first, and there is no error
 *   uninitialised list         CASE FUNCTION BYTES UNINITIALISED OFFSET, OFFSET -1: copied
 *
 * A block has 48 bytes, of which those from 16 to 32 are not written. The status is 7.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BYTES = 48, FROM = 16, TO = 32 };

static bool is_set;
static int ends[2], null_fd, result;
static const char *volatile bad = (const char *)8;
static FILE *sink;

/* Volatile: the compiler must not replace the calls. */
static int (*volatile compare)(const void *, const void *, size_t) = memcmp;
static int (*volatile compare_b)(const void *, const void *, size_t) = bcmp;
static int (*volatile compare_text)(const char *, const char *) = strcmp;
static int (*volatile compare_text_n)(const char *, const char *, size_t) = strncmp;
static void *(*volatile copy)(void *, const void *, size_t) = memcpy;
static void *(*volatile find)(const void *, int, size_t) = memchr;
static size_t (*volatile length)(const char *) = strlen;
static void *(*volatile take)(size_t) = malloc;
static void *(*volatile retake)(void *, size_t) = realloc;

static void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(99);
    }
}

static void fill(char *p, int from, int to)
{
    for (volatile char *at = p + from; at < p + to; at++)
        *at = 'a';
}

static char *make(void)
{
    char *p = take(BYTES);
    must(p, "malloc");
    fill(p, 0, is_set ? BYTES : FROM);
    fill(p, TO, BYTES);
    p[BYTES - 1] = 0;
    return p;
}

/* ---- data that leave the process --------------------------------------------------------------- */

static void by_write(void)
{
    char *p = make();
    must(write(ends[1], p, BYTES) == BYTES, "write");
    free(p);
}

/* 4 bytes between others. */
static void by_half(void)
{
    char *p = make();
    fill(p, FROM, FROM + 4);
    fill(p, FROM + 8, TO);
    must(write(ends[1], p, BYTES) == BYTES, "write");
    free(p);
}

/* The last two words only in part. */
static void by_pwrite(void)
{
    char *p = make();
    must(pwrite(null_fd, p + 10, 20, 0) == 20, "pwrite");
    free(p);
}

static void by_writev(void)
{
    char *p = make(), text[3] = "abc";
    const struct iovec part[] = {{text, 3}, {p, BYTES}};
    must(writev(ends[1], part, 2) == 3 + BYTES, "writev");
    free(p);
}

static void by_send(void)
{
    char *p = make();
    must(send(ends[1], p + 24, 24, 0) == 24, "send");
    free(p);
}

static void by_sendto(void)
{
    char *p = make();
    must(sendto(ends[1], p, BYTES, 0, NULL, 0) == BYTES, "sendto");
    free(p);
}

/* Padding of a struct that the kernel does not use is no error. */
static void by_sendmsg(void)
{
    char *p = make();
    struct msghdr *m = take(sizeof *m);
    struct iovec *part = take(sizeof *part);
    part->iov_base = p;
    part->iov_len = BYTES;
    m->msg_name = NULL;
    m->msg_namelen = 0;
    m->msg_iov = part;
    m->msg_iovlen = 1;
    m->msg_control = NULL;
    m->msg_controllen = 0;
    must(sendmsg(ends[1], m, 0) == BYTES, "sendmsg");
    free(part);
    free(m);
    free(p);
}

static void by_fwrite(void)
{
    char *p = make();
    must(fwrite(p, BYTES, 1, sink) == 1, "fwrite");
    free(p);
}

static void by_open(void)
{
    char *p = make();
    result = open(p, O_RDONLY);
    free(p);
}

static void by_puts(void)
{
    char *p = make();
    must(fputs(p, sink) >= 0, "fputs");
    free(p);
}

/* ---- copies ------------------------------------------------------------------------------------ */

static void by_copy(void)
{
    char *p = make(), local[BYTES] __attribute__((aligned(8)));
    copy(local, p, BYTES);
    must(write(ends[1], local, BYTES) == BYTES, "write");
    free(p);
}

static void by_copy_to_block(void)
{
    char *p = make(), *q = take(2 * BYTES);
    fill(q, 0, 2 * BYTES);
    copy(q + 8, p, BYTES);
    must(write(ends[1], q, 2 * (size_t)BYTES) == 2 * BYTES, "write");
    free(q);
    free(p);
}

static void by_freed(void)
{
    char *p = make(), local[BYTES] __attribute__((aligned(8)));
    copy(local, p, BYTES);
    free(p);
    must(write(ends[1], local, BYTES) == BYTES, "write");
}

static void by_growth(void)
{
    char *p = retake(make(), 40000);
    must(write(ends[1], p, BYTES) == BYTES, "write");
    free(p);
}

static void by_local_string(void)
{
    char *p = make(), local[BYTES] __attribute__((aligned(8)));
    copy(local, p, BYTES);
    result = (int)length(local);
    free(p);
}

/* In place: the slot, or the pages, are larger. */
static void grow(size_t from, size_t to)
{
    char *p = take(from);
    must(p, "malloc");
    fill(p, 0, (int)from);
    char *q = retake(p, to);
    must(p == q, "realloc in place");
    if (is_set)
        fill(q, 0, (int)to);
    must(write(null_fd, q + from - 8, 16) == 16, "write");
    free(q);
}

static void by_growth_in_slot(void)
{
    grow(100, 108);
}

static void by_growth_of_pages(void)
{
    grow(100000, 130000);
}

/* ---- values ------------------------------------------------------------------------------------ */

static void by_integer(void)
{
    char *p = make();
    fprintf(sink, "%s %*d %ld\n", "text", 3, 4, ((volatile long *)(void *)p)[2]);
    free(p);
}

static void by_double(void)
{
    char *p = make();
    fprintf(sink, "%d %f\n", 1, ((volatile double *)(void *)p)[3]);
    free(p);
}

static void by_many(void)
{
    char *p = make(), text[64];
    snprintf(text, sizeof text, "%d %d %d %d %d %lx", 1, 2, 3, 4, 5,
             ((volatile unsigned long *)(void *)p)[2]);
    free(p);
}

static void by_text(void)
{
    char *p = make();
    fprintf(sink, "%s\n", p);
    free(p);
}

/* ---- comparisons and searches ------------------------------------------------------------------ */

static void by_memcmp(void)
{
    char *p = make(), *q = make();
    fill(q, 0, BYTES);
    result = compare(q, p, BYTES);
    free(q);
    free(p);
}

static void by_bcmp(void)
{
    char *p = make(), *q = make();
    fill(q, 0, BYTES);
    result = compare_b(p, q, 20);
    free(q);
    free(p);
}

static void by_strcmp(void)
{
    char *p = make(), *q = make();
    fill(q, 0, BYTES - 1);
    result = compare_text(p, q);
    free(q);
    free(p);
}

static void by_strncmp(void)
{
    char *p = make(), *q = make();
    fill(q, 0, BYTES - 1);
    result = compare_text_n(p, q, 24);
    free(q);
    free(p);
}

static void by_strlen(void)
{
    char *p = make();
    result = (int)length(p);
    free(p);
}

static void by_memchr(void)
{
    char *p = make();
    result = find(p, 0, BYTES) != NULL;
    free(p);
}

/* ---- elsewhere --------------------------------------------------------------------------------- */

static void *run_write(void *unused)
{
    by_write();
    return unused;
}

static void by_thread(void)
{
    pthread_t t;
    must(pthread_create(&t, NULL, run_write, NULL) == 0 && pthread_join(t, NULL) == 0, "thread");
}

static void on_signal(int unused)
{
    (void)unused;
    by_write();
}

static void by_handler(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
}

/* ---- no errors, also if nothing is set ---------------------------------------------------------- */

/* A comparison ends at the first difference, a search where it finds. */
static void before_the_difference(void)
{
    char *p = make(), *q = make();
    q[3] = 'b';
    result = compare(p, q, BYTES) + compare_text(p, q) + compare_text_n(p, q, BYTES);
    p[15] = 'c';
    result += find(p, 'c', BYTES) != NULL;
    free(q);
    free(p);
}

static void not_the_hole(void)
{
    char *p = make();
    must(write(ends[1], p, FROM) == FROM && write(ends[1], p + TO, BYTES - TO) == BYTES - TO,
         "write");
    free(p);
}

static void of_calloc(void)
{
    char *p = calloc(1, BYTES);
    must(p && write(ends[1], p, BYTES) == BYTES, "write");
    free(p);
}

static void copied_only(void)
{
    char *p = make(), *q = make();
    copy(q, p, BYTES);
    memmove(p, q, BYTES);
    p = retake(p, 400);
    free(q);
    free(p);
}

/* Pages of a block that the program has made inaccessible: the kernel refuses them, as natively. */
static void of_protected(void)
{
    const size_t page = 4096;
    char *p = aligned_alloc(page, 50 * page);
    must(p && write(null_fd, p, 0) == 0, "aligned_alloc");
    memset(p, 'a', 50 * page);
    must(mprotect(p + page, 49 * page, PROT_NONE) == 0, "mprotect");
    must(write(ends[1], p + page, 10) == -1 && errno == EFAULT, "write");
    must(open(p + page, O_RDONLY) == -1 && errno == EFAULT, "open");
    must(open(p + page - 9, O_RDONLY) == -1 && errno == EFAULT, "open of both");
    must(mprotect(p, 50 * page, PROT_READ | PROT_WRITE) == 0, "mprotect back");
    free(p);
}

static void of_stack(void)
{
    struct {
        long a;
        char b;
    } local = {1, 2};
    must(write(ends[1], &local, sizeof local) == sizeof local, "write");
    result = (int)write(ends[1], bad, 100) + (int)write(ends[1], bad - 8, 8);
}

static const struct {
    const char *name, *function;
    int length, bytes, offset;
    void (*run)(void);
} cases[] = {
    {"write", "write", BYTES, 16, 16, by_write},
    {"half", "write", BYTES, 4, 20, by_half},
    {"pwrite", "pwrite", 20, 14, 16, by_pwrite},
    {"writev", "writev", BYTES, 16, 16, by_writev},
    {"send", "send", 24, 8, 24, by_send},
    {"sendto", "sendto", BYTES, 16, 16, by_sendto},
    {"sendmsg", "sendmsg", BYTES, 16, 16, by_sendmsg},
    {"fwrite", "fwrite", BYTES, 16, 16, by_fwrite},
    {"open", "open", BYTES - 1, 16, 16, by_open},
    {"fputs", "fputs", BYTES, 16, 16, by_puts},
    {"copy", "write", BYTES, 16, -1, by_copy},
    {"copy_to_block", "write", 2 * BYTES, 16, -1, by_copy_to_block},
    {"freed", "write", BYTES, 16, -1, by_freed},
    {"growth", "write", BYTES, 16, -1, by_growth},
    {"local_string", "strlen", BYTES, 16, -1, by_local_string},
    {"growth_in_slot", "write", 16, 8, 100, by_growth_in_slot},
    {"growth_of_pages", "write", 16, 8, 100000, by_growth_of_pages},
    {"integer", "fprintf", 8, 8, -1, by_integer},
    {"double", "fprintf", 8, 8, -1, by_double},
    {"many", "snprintf", 8, 8, -1, by_many},
    {"text", "fprintf", BYTES, 16, 16, by_text},
    {"memcmp", "memcmp", 17, 1, 16, by_memcmp},
    {"bcmp", "bcmp", 17, 1, 16, by_bcmp},
    {"strcmp", "strcmp", 17, 1, 16, by_strcmp},
    {"strncmp", "strncmp", 17, 1, 16, by_strncmp},
    {"strlen", "strlen", BYTES, 16, 16, by_strlen},
    {"memchr", "memchr", BYTES, 16, 16, by_memchr},
    {"thread", "write", BYTES, 16, 16, by_thread},
    {"handler", "write", BYTES, 16, 16, by_handler},
    {"before_the_difference", "", 0, 0, 0, before_the_difference},
    {"not_the_hole", "", 0, 0, 0, not_the_hole},
    {"of_calloc", "", 0, 0, 0, of_calloc},
    {"copied_only", "", 0, 0, 0, copied_only},
    {"of_protected", "", 0, 0, 0, of_protected},
    {"of_stack", "", 0, 0, 0, of_stack},
};

int main(int argc, char **argv)
{
    const unsigned count = sizeof cases / sizeof *cases;
    if (argc == 2 && strcmp(argv[1], "list") == 0) {
        for (unsigned i = 0; i < count; i++)
            printf("%s %s %d %d %d\n", cases[i].name, *cases[i].function ? cases[i].function : "-",
                   cases[i].length, cases[i].bytes, cases[i].offset);
        return 0;
    }
    must(argc == 2 || argc == 3, "usage: uninitialised CASE [set]");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    null_fd = open("/dev/null", O_WRONLY);
    sink = fopen("/dev/null", "w");
    must(null_fd >= 0 && sink, "/dev/null");
    is_set = argc == 3;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            return fclose(sink) == 0 ? 7 : 98;
        }
    return 97;
}
