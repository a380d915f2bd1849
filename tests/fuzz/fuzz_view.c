/*
 * fuzz_view.c - the whole reader, on manipulated run files.
 *
 * rtc-build: report +runs.c +spoil.c +output.c -Wl,--wrap=mmap,--wrap=munmap,--wrap=fopen,--wrap=fork
 *
 * An input is: a good file (runs.c), a query, and edits (spoil.c).  Edits behind a pause are made
 * after the file was opened: it changes under a reader that has already verified parts of it.
 *
 * Required: no crash, leak or hang; the output is plain text, or JSON; a good file is accepted,
 * damage is reported; taking ended images out of a good file leaves a good one; a saved copy of a
 * file that could be opened can be opened.
 *
 * The reader keeps areas in anonymous mappings, behind which lie other mappings: an access beyond
 * the end would not be noticed.  So mmap gives heap memory here, which the sanitizer guards.
 */
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "output.h"
#include "report.h"
#include "format/format.h"
#include "spoil.h"

#define INPUT_MAX 1024

/* ---- guarded memory ------------------------------------------------------------------------ */

#define GUARDED_MAX 16

/* The reader must not fork helpers that read files: faults must occur in this process. */
pid_t __wrap_fork(void);

pid_t __wrap_fork(void)
{
    return -1;
}

struct guarded {
    void *at; /* NULL: none */
    size_t bytes;
    bool is_used;
};

static struct guarded guarded[GUARDED_MAX];

void *__real_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);

/* An unmapped one is kept for the next of its length: a new one takes much longer. */
static struct guarded *guarded_get(size_t bytes)
{
    struct guarded *place = NULL;

    for (unsigned i = 0; i < GUARDED_MAX; i++) {
        if (!guarded[i].is_used && guarded[i].bytes == bytes)
            return &guarded[i];
        if (!guarded[i].is_used)
            place = &guarded[i];
    }
    must(place != NULL, "what is mapped is given back");
    ASAN_UNPOISON_MEMORY_REGION(place->at, place->bytes);
    free(place->at);
    place->at = malloc(bytes);
    place->bytes = bytes;
    return place;
}

/* These flags are the reader's alone. */
void *__wrap_mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t offset)
{
    struct guarded *g;

    if (at || flags != (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE))
        return __real_mmap(at, bytes, prot, flags, fd, offset);
    g = guarded_get(bytes);
    must(g->at != NULL, "there is memory");
    g->is_used = true;
    ASAN_UNPOISON_MEMORY_REGION(g->at, bytes);
    return memset(g->at, 0, bytes);
}

int __wrap_munmap(void *at, size_t bytes)
{
    for (unsigned i = 0; i < GUARDED_MAX; i++) {
        if (guarded[i].at != at || !guarded[i].is_used)
            continue;
        must(guarded[i].bytes == bytes, "all of a mapping is given back");
        guarded[i].is_used = false;
        ASAN_POISON_MEMORY_REGION(at, bytes);
        return 0;
    }
    return __real_munmap(at, bytes);
}

/* ---- output -------------------------------------------------------------------------------- */

/* In place of the JSON file: a file that is not regular is written in place. */
#define JSON_PATH "/dev/null"

struct printed {
    char *text;
    size_t bytes;
};

static struct printed json;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (strcmp(path, JSON_PATH) != 0)
        return __real_fopen(path, mode);
    return open_memstream(&json.text, &json.bytes);
}

static FILE *print_begin(struct printed *p)
{
    FILE *out = open_memstream(&p->text, &p->bytes);
    must(out != NULL, "there is memory");
    return out;
}

static void print_end(struct printed *p, FILE *out)
{
    fclose(out);
    must(output_is_plain(p->text, p->bytes), "text is plain");
    free(p->text);
}

/* ---- the reader ------------------------------------------------------------------------------ */

static struct report *open_report(int fd)
{
    char why[REPORT_ERROR_BYTES] = "";
    struct report *r = NULL;
    int err = report_open_fd(&r, fd, "fuzz", why);

    must(err ? *why != '\0' : r != NULL, "a file is opened, or the reason told");
    must(output_is_plain(why, strlen(why)), "reasons are plain");
    return err ? NULL : r;
}

/* Is all of it good? */
static bool dump(int fd)
{
    struct report *r = open_report(fd);
    struct printed p;
    FILE *out;
    int err;

    if (!r)
        return false;
    out = print_begin(&p);
    err = report_dump(r, out);
    print_end(&p, out);
    report_close(r);
    return err == 0;
}

/* ---- queries -------------------------------------------------------------------------------- */

#define QUERY_ABSORB 1u
#define QUERY_MEMUSE 2u
#define QUERY_QUIET 4u
#define QUERY_EXIT 8u
#define QUERY_SAVE 16u
#define QUERY_FACTS 32u
#define QUERY_FORMAT(query) ((query) >> 6 & 3) /* ours, or others'; 3: two of them */

static void print_text(struct report *r, unsigned query)
{
    static const enum print_format formats[] = {PRINT_TEXT, PRINT_VALGRIND, PRINT_LSAN, PRINT_GCC};
    struct print_options how = {
        .format = QUERY_FORMAT(query) == 3 && query & QUERY_MEMUSE ? PRINT_GITHUB
                                                                   : formats[QUERY_FORMAT(query)],
        .leak_kinds = LEAK_DEFINITE | LEAK_INDIRECT | LEAK_POSSIBLE | LEAK_REACHABLE,
        .problem_kinds = LEAK_DEFINITE | LEAK_POSSIBLE,
        .use = query & QUERY_MEMUSE ? PRINT_USE_STACKS : PRINT_USE_SUM,
        .quiet = query & QUERY_QUIET,
        .all = query & QUERY_FACTS,
        .deterministic = query & QUERY_EXIT,
        .pool = query & QUERY_SAVE ? "last.pool" : NULL,
    };
    struct printed p;
    FILE *out = print_begin(&p);

    report_print_text(r, out, &how);
    print_end(&p, out);
}

/* Ids in the JSON report: each can be shown. */
#define SHOWN_MAX 4

static void print_ones(struct report *r, const char *text)
{
    static const char before[] = "{\"id\":\"";
    struct print_options how = {0};

    for (int n = 0; n < SHOWN_MAX && (text = strstr(text, before)); n++) {
        struct printed p;
        FILE *out = print_begin(&p);
        char id[64];
        text += sizeof before - 1;
        snprintf(id, sizeof id, "%.*s", (int)strcspn(text, "\""), text);
        must(report_print_one(r, id, out, &how), "an id leads somewhere");
        print_end(&p, out);
    }
}

/*
 * The heap in the file: the block around an address, and the whole.  There is a heap in the image that
 * the report has read, or one reason why there is none.
 */
static void print_heap(struct report *r, unsigned query)
{
    struct print_options how = {.all = query & QUERY_QUIET};
    char given[32], why[REPORT_ERROR_BYTES] = "";
    struct printed p;
    FILE *out = print_begin(&p);

    snprintf(given, sizeof given, "0x7000000000%02x", query << 1 & 0xff);
    int err = report_print_bytes(r, given, 0, out, &how, why, sizeof why);
    fflush(out);
    must(err ? *why != '\0' && p.bytes == 0 : p.bytes > 0,
         "a block is printed, or the reason told");
    must(output_is_plain(why, strlen(why)), "reasons are plain");
    print_end(&p, out);
}

/* Under its own name, as in save. */
static void write_core(int fd)
{
    char path[256], why[REPORT_ERROR_BYTES] = "";
    const char *dir = getenv("TMPDIR");
    struct report *r = open_report(fd);

    if (!r)
        return;
    snprintf(path, sizeof path, "%s/rtcheck.core.%d", dir ? dir : "/tmp", (int)getpid());
    int err = report_write_core(r, path, 0, why, sizeof why);
    must(err == 0 || *why != '\0', "a core is written, or the reason told");
    unlink(path);
    report_close(r);
}

/* Does the report contain damage of the file? */
static bool print_json(struct report *r)
{
    bool reports_damage;

    must(report_print_json(r, JSON_PATH) == 0, "JSON can be written");
    must(output_is_json(json.text, json.bytes), "JSON is JSON");
    reports_damage = !strstr(json.text, "\"damaged\":[]");
    print_ones(r, json.text);
    free(json.text);
    return reports_damage;
}

/* The file for a build server in this format. */
static void print_file(struct report *r, unsigned query)
{
    struct print_options how = {.leak_kinds = LEAK_DEFINITE | LEAK_REACHABLE,
                                .source_root = "/usr",
                                .path_maps = "/usr=/opt"};
    enum report_file what = QUERY_FORMAT(query);

    if (what == REPORT_JSON)
        return;
    must(report_write(r, what, JSON_PATH, &how) == 0, "a file can be written");
    must(what == REPORT_JUNIT || output_is_json(json.text, json.bytes),
         "SARIF and GitLab's is JSON");
    free(json.text);
}

static void query_facts(struct report *r)
{
    struct report_image_fact fact = report_image_of_pid(r, 1);

    must(!fact.found || strlen(fact.exe) < sizeof((struct image_header *)0)->exe + 1,
         "a program's name has an end");
    report_running(r);
}

/* Does the report contain damage? -1: there is no report. */
static int collect_and_print(struct report *r, unsigned query)
{
    char why[REPORT_ERROR_BYTES] = "";

    if (report_collect(r, why) != 0) {
        must(*why != '\0', "the reason is told");
        return -1;
    }
    must(report_run(r)->magic == RTC_RUN_MAGIC, "the header is verified");
    report_main_image(r);
    print_text(r, query);
    print_file(r, query);
    print_heap(r, query);
    return print_json(r);
}

/* Under its own name: several fuzzers run at once. */
static void save(int fd)
{
    char path[256], why[REPORT_ERROR_BYTES];
    const char *dir = getenv("TMPDIR");
    struct report *r;

    snprintf(path, sizeof path, "%s/rtcheck.fuzz.%d", dir ? dir : "/tmp", (int)getpid());
    if (report_save(fd, path, 1u << 20) != 0)
        return;
    must(report_open(&r, path, why) == 0, "a saved copy can be opened");
    report_close(r);
    unlink(path);
}

/* Rows of variables, twice: those of ended processes are printed once. */
static void look(int fd, bool as_json)
{
    struct stat_options how = {.json = as_json};
    struct report *r = open_report(fd);
    struct printed p;
    FILE *out;

    for (int i = 0; r && i < 2; i++) {
        out = print_begin(&p);
        struct stat_sum sum = report_stat(r, &how, out);
        fflush(out);
        must(sum.running <= sum.seen, "who runs was seen");
        must(!as_json || p.bytes == 0 || output_is_json_lines(p.text, p.bytes), "each row is JSON");
        print_end(&p, out);
    }
    if (r)
        report_close(r);
}

/* The text for a program that waits for its leak check, or for `rtcheck check`.  The file is not changed. */
static void print_checks(int fd, bool requested)
{
    struct print_options how = {.leak_kinds = LEAK_DEFINITE | LEAK_POSSIBLE};
    struct printed p;
    struct check_reported at[4];
    FILE *out = print_begin(&p);

    report_checks(fd, (struct check_choice){.requested = requested}, out, &how, at, 4);
    print_end(&p, out);
}

static void use(int fd, struct input *in, const struct run_base *base, unsigned query)
{
    bool is_good = dump(fd), is_final = in->left == 0;
    struct report *r = open_report(fd);
    int damage;

    if (!r)
        return;
    run_file_spoil(fd, in, base);
    if (query & QUERY_EXIT)
        report_set_exit(r, (uint32_t)input_number(in, 1), (int)input_number(in, 2), NULL);
    if (query & QUERY_FACTS) {
        query_facts(r);
        print_checks(fd, false);
        print_checks(fd, true);
        write_core(fd);
        look(fd, query & QUERY_MEMUSE);
    }
    damage = collect_and_print(r, query);
    must(!is_final || damage == !is_good, "damage is told, and nothing else called damage");
    report_close(r);
}

/* The head keeps its length, as the reader maps it; only heads of rtcheck's own files are mapped. */
static void absorb(int fd)
{
    struct report *r = open_report(fd);
    bool was_good = dump(fd);

    if (!r)
        return;
    report_absorb_ended(r, fd);
    must(!was_good || dump(fd), "a file stays good when images are taken out");
    collect_and_print(r, QUERY_MEMUSE);
    report_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size < INPUT_MAX ? size : INPUT_MAX};
    const struct run_base *base = run_base_choose((unsigned)input_number(&in, 1));
    unsigned query = (unsigned)input_number(&in, 1);
    bool is_edited = in.left > 0;
    int fd = run_file_begin(base);

    run_file_spoil(fd, &in, base);
    must(is_edited || dump(fd), "a good file is called good");
    if (query & QUERY_SAVE)
        save(fd);
    if (query & QUERY_ABSORB)
        absorb(fd);
    use(fd, &in, base, query);
    return 0;
}
