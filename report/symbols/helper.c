/*
 * helper.c - a helper process that reads program files (symbols and debugging information).
 *
 * These files are untrusted, and the parsers of two large libraries read them. So the parsers run
 * in a forked child with resource limits. The parent queries one stack at a time; a shared page
 * records which frame the child works on. If the child crashes or exceeds the time limit of a
 * frame, the module of that frame gets no symbols, and a new child is started for the others. The
 * child's answers are as untrusted as a file.
 *
 * If no child can be started, this process reads the files itself, except for another user's run.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "helper_priv.h"

#define ANSWER_BYTES_MAX (64u << 20)
#define LOOK_AGAIN_MS 100
#define TIMEOUT_SECONDS 60           /* for one frame, which may need a whole file */
#define TIMEOUT_NETWORK_SECONDS 1800 /* or a download (debuginfod) */
#define MEMORY_MAX (8ull << 30)      /* address space beyond its initial size */

struct helper {
    pid_t pid;
    int fd;
    uint32_t modules, frames, sites; /* that it has received */
    bool is_stuck;
    struct doing *now;
};

/* Shared with the child. */
struct doing {
    _Atomic uint32_t module; /* that it reads */
    _Atomic uint32_t step;   /* changes with each frame */
};

/* New entries of the tables are sent before queries, in the order of the tables. */
enum {
    ADD_MODULE,
    ADD_FRAME,
    ADD_EXACT_FRAME,
    ADD_SITE,
    QUERY_SITE,
    QUERY_VARIABLE,
    QUERY_LOCAL,
    QUERY_THREAD_VARIABLE,
    QUERY_DEBUG_FILES
};

struct question {
    uint32_t kind;
    uint32_t index; /* site, module or (LOCAL) frame; ADD_SITE: how many frames follow */
    uint64_t offset;
    struct in_frame at; /* LOCAL */
};

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool send_all(int fd, const void *bytes, size_t n)
{
    for (const char *p = bytes; n > 0;) {
        ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        p += sent;
        n -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, void *bytes, size_t n)
{
    for (char *p = bytes; n > 0;) {
        ssize_t got = recv(fd, p, n, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return true;
}

/* ---- the child ------------------------------------------------------------------------------- */

static void limit_to(__rlimit_resource_t what, rlim_t most)
{
    struct rlimit limit;

    if (getrlimit(what, &limit) == 0 && limit.rlim_max > most)
        setrlimit(what, &(struct rlimit){most, most});
}

static void limit_memory(void)
{
    unsigned long long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "re");

    if (!statm)
        return;
    if (fscanf(statm, "%llu", &pages) == 1)
        limit_to(RLIMIT_AS, pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY_MAX);
    fclose(statm);
}

/* Signals of the terminal are left to the parent; the child ends with it. */
static void child_begin(pid_t parent)
{
    static const int ignored[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGPIPE};
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(0);
    for (size_t i = 0; i < countof(ignored); i++)
        signal(ignored[i], SIG_IGN);
    for (size_t i = 0; i < countof(deadly); i++)
        signal(deadly[i], SIG_DFL);
    limit_to(RLIMIT_CORE, 0);
    limit_memory();
}

static void doing_set(struct doing *now, uint32_t module)
{
    atomic_store_explicit(&now->module, module, memory_order_relaxed);
    atomic_fetch_add_explicit(&now->step, 1, memory_order_relaxed);
}

static void answer_site(struct report *r, uint32_t index, struct doing *now, FILE *out)
{
    const struct site *site = &r->sites[index];

    for (uint32_t i = 0; i < site->count; i++) {
        uint32_t frame = site->frames[i];
        if (r->frames[frame].tried || r->frames[frame].module == NO_MODULE)
            continue;
        doing_set(now, r->frames[frame].module);
        frame_symbolize(r, &r->frames[frame]);
        answer_put_frame(out, r, frame);
    }
}

static uint32_t module_of_query(const struct report *r, const struct question *q)
{
    return q->kind == QUERY_LOCAL ? r->frames[q->index].module : q->index;
}

static void variable_of_query(struct report *r, const struct question *q, struct variable *out)
{
    if (q->kind == QUERY_LOCAL)
        local_symbolize(r, &r->frames[q->index], q->at, out);
    else if (q->kind == QUERY_THREAD_VARIABLE)
        thread_variable_symbolize(r, q->index, q->offset, out);
    else
        variable_symbolize(r, q->index, q->offset, out);
}

static void answer_variable(struct report *r, const struct question *q, struct doing *now,
                            FILE *out)
{
    struct variable variable = {0};

    doing_set(now, module_of_query(r, q));
    variable_of_query(r, q, &variable);
    answer_put_variable(out, r, module_of_query(r, q), &variable);
    variable_free(&variable);
}

static void answer_debug_files(struct report *r, uint32_t module, struct doing *now, FILE *out)
{
    struct debug_files files;

    doing_set(now, module);
    debug_files_find(r, module, &files);
    answer_put_debug_files(out, &files);
    debug_files_free(&files);
}

/* false: the parent has closed the connection. */
static bool add(struct report *r, int fd, const struct question *q)
{
    uint32_t frames[RTC_STACK_FRAMES];
    struct module_record m;

    switch (q->kind) {
    case ADD_MODULE:
        if (!receive_all(fd, &m, sizeof m))
            return false;
        module_intern(r, &m, 0);
        return true;
    case ADD_FRAME:
    case ADD_EXACT_FRAME:
        frame_intern(r, q->index, q->offset, q->kind == ADD_EXACT_FRAME);
        return true;
    default:
        if (!receive_all(fd, frames, q->index * sizeof frames[0]))
            return false;
        site_intern(r, frames, q->index, (uint32_t)q->offset);
        return true;
    }
}

static bool answer(struct report *r, int fd, const struct question *q, struct doing *now)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = xalloc(open_memstream(&text, &bytes));
    uint32_t head;
    bool good;

    if (q->kind == QUERY_SITE)
        answer_site(r, q->index, now, out);
    else if (q->kind == QUERY_DEBUG_FILES)
        answer_debug_files(r, q->index, now, out);
    else
        answer_variable(r, q, now, out);
    good = fclose(out) == 0 && bytes <= ANSWER_BYTES_MAX;
    head = (uint32_t)bytes;
    good = good && send_all(fd, &head, sizeof head) && send_all(fd, text, bytes);
    free(text);
    return good;
}

static _Noreturn void serve(struct report *r, int fd, struct doing *now)
{
    struct question q;

    while (receive_all(fd, &q, sizeof q) &&
           (q.kind >= QUERY_SITE ? answer(r, fd, &q, now) : add(r, fd, &q)))
        ;
    _exit(0);
}

/* ---- the parent ------------------------------------------------------------------------------ */

void helper_end(struct report *r)
{
    struct helper *h = r->helper;

    if (!h)
        return;
    close(h->fd); /* the child exits */
    if (h->is_stuck)
        kill(h->pid, SIGKILL);
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    munmap(h->now, sizeof *h->now);
    free(h);
    r->helper = NULL;
}

static struct helper *helper_start(struct report *r)
{
    struct helper *h = xalloc(calloc(1, sizeof *h));
    pid_t parent = getpid();
    int ends[2];

    h->modules = r->module_count;
    h->frames = r->frame_count;
    h->sites = r->site_count;
    h->now = mmap(NULL, sizeof *h->now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (h->now == MAP_FAILED)
        goto forget;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        goto unmap;
    h->fd = ends[0];
    h->pid = fork();
    if (h->pid == 0) {
        child_begin(parent);
        close(ends[0]);
        serve(r, ends[1], h->now);
    }
    close(ends[1]);
    if (h->pid > 0)
        return h;
    close(ends[0]);
unmap:
    munmap(h->now, sizeof *h->now);
forget:
    free(h);
    return NULL;
}

static uint32_t timeout_ms(const struct report *r)
{
    const char *urls = getenv("DEBUGINFOD_URLS");

    if (r->timeout_ms)
        return r->timeout_ms;
    return 1000 * (urls && *urls ? TIMEOUT_NETWORK_SECONDS : TIMEOUT_SECONDS);
}

/* false: the child has ended, or exceeded the time limit. */
static bool wait_for(struct report *r)
{
    struct helper *h = r->helper;
    struct pollfd p = {.fd = h->fd, .events = POLLIN};
    uint32_t at = 0, waited_ms = 0;
    int ready;

    while ((ready = poll(&p, 1, LOOK_AGAIN_MS)) == 0 || (ready < 0 && errno == EINTR)) {
        uint32_t now = atomic_load_explicit(&h->now->step, memory_order_relaxed);
        waited_ms = now == at ? waited_ms + LOOK_AGAIN_MS : 0;
        at = now;
        progress_show(&r->progress);
        if (waited_ms >= timeout_ms(r)) {
            h->is_stuck = true;
            return false;
        }
    }
    return ready > 0;
}

/* The caller frees the text. */
static bool receive(struct report *r, struct answer *a)
{
    const struct helper *h = r->helper;
    uint32_t bytes;

    if (!wait_for(r) || !receive_all(h->fd, &bytes, sizeof bytes) || bytes > ANSWER_BYTES_MAX)
        return false;
    a->text = xalloc(malloc((size_t)bytes + 1));
    a->text[bytes] = '\0';
    a->at = a->text;
    a->end = a->text + bytes;
    if (receive_all(h->fd, a->text, bytes))
        return true;
    free(a->text);
    return false;
}

/*
 * Do not retry the query that the child failed at: no more variables or symbols of that module.
 * Without a module, no symbols at all.
 */
static void mark_unreadable(struct report *r, uint32_t kind)
{
    uint32_t at = atomic_load_explicit(&r->helper->now->module, memory_order_relaxed);

    if (at < r->module_count && kind != QUERY_SITE)
        r->modules[at].no_variables = true;
    else if (at < r->module_count)
        r->modules[at].symbols = SYMBOLS_UNREADABLE;
    else
        r->no_symbols = true;
}

/* false: the child failed and was ended; the cause is marked as unreadable. */
static bool query(struct report *r, const struct question *q, struct answer *a)
{
    doing_set(r->helper->now, NO_MODULE);
    if (send_all(r->helper->fd, q, sizeof *q) && receive(r, a))
        return true;
    mark_unreadable(r, q->kind);
    helper_end(r);
    return false;
}

static bool send_module(const struct helper *h, const struct module *module)
{
    const struct question q = {.kind = ADD_MODULE};
    struct module_record m = {.bias = module->bias, .build_id_bytes = module->build_id_bytes};

    memcpy(m.build_id, module->build_id, sizeof module->build_id);
    memcpy(m.path, module->path, strnlen(module->path, sizeof m.path));
    return send_all(h->fd, &q, sizeof q) && send_all(h->fd, &m, sizeof m);
}

static bool send_frame(const struct helper *h, const struct frame *frame)
{
    const struct question q = {.kind = frame->exact ? ADD_EXACT_FRAME : ADD_FRAME,
                               .index = frame->module,
                               .offset = frame->offset};

    return send_all(h->fd, &q, sizeof q);
}

static bool send_site(const struct helper *h, const struct site *site)
{
    const struct question q = {.kind = ADD_SITE, .index = site->count, .offset = site->end};

    return send_all(h->fd, &q, sizeof q) &&
           send_all(h->fd, site->frames, site->count * sizeof site->frames[0]);
}

/* Send table entries added since the child was started: a run in progress is reported in steps. */
static void send_additions(const struct report *r, struct helper *h)
{
    while (h->modules < r->module_count && send_module(h, &r->modules[h->modules]))
        h->modules++;
    while (h->frames < r->frame_count && send_frame(h, &r->frames[h->frames]))
        h->frames++;
    while (h->sites < r->site_count && send_site(h, &r->sites[h->sites]))
        h->sites++;
}

/* NULL: no child can be started. */
static struct helper *helper_get(struct report *r)
{
    if (!r->helper)
        r->helper = helper_start(r);
    if (r->helper)
        send_additions(r, r->helper);
    else if (r->view.foreign)
        r->no_symbols = true;
    return r->helper;
}

/* ---- stacks ---------------------------------------------------------------------------------- */

/* Whether any frame can be symbolized; frames that cannot are marked as tried. */
static bool is_worth_query(struct report *r, const struct site *site)
{
    bool worth = false;

    for (uint32_t i = 0; i < site->count; i++) {
        struct frame *frame = &r->frames[site->frames[i]];
        if (!frame->tried && !r->no_symbols && module_has_file(r, frame->module))
            worth = true;
        else
            frame->tried = true;
    }
    return worth;
}

static void symbolize_here(struct report *r, const struct site *site)
{
    for (uint32_t i = 0; i < site->count; i++)
        if (!r->frames[site->frames[i]].tried)
            frame_symbolize(r, &r->frames[site->frames[i]]);
}

void symbolize_site(struct report *r, uint32_t index)
{
    const struct question q = {.kind = QUERY_SITE, .index = index};
    struct answer a;

    while (is_worth_query(r, &r->sites[index])) {
        if (!helper_get(r)) {
            if (!r->no_symbols)
                symbolize_here(r, &r->sites[index]);
        } else if (query(r, &q, &a)) {
            while (a.at < a.end && answer_get_frame(&a, r))
                ;
            free(a.text);
            return;
        }
    }
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool query_variable(struct report *r, const struct question *q, struct variable *out)
{
    uint32_t module = module_of_query(r, q);
    struct answer a;

    *out = (struct variable){0};
    if (r->no_symbols || !module_has_file(r, module) || r->modules[module].no_variables)
        return false;
    if (helper_get(r)) {
        if (!query(r, q, &a))
            return false;
        answer_get_symbols(&a, &r->modules[module]);
        answer_get_variable(&a, out);
        free(a.text);
    } else if (!r->no_symbols) {
        variable_of_query(r, q, out);
    }
    return out->name || out->section;
}

bool variable_find(struct report *r, uint32_t module, uint64_t offset, struct variable *out)
{
    return query_variable(
        r, &(struct question){.kind = QUERY_VARIABLE, .index = module, .offset = offset}, out);
}

bool local_find(struct report *r, uint32_t frame, struct in_frame at, struct variable *out)
{
    return query_variable(r, &(struct question){.kind = QUERY_LOCAL, .index = frame, .at = at},
                          out);
}

bool thread_variable_find(struct report *r, uint32_t module, uint64_t below, struct variable *out)
{
    return query_variable(
        r, &(struct question){.kind = QUERY_THREAD_VARIABLE, .index = module, .offset = below},
        out);
}

void variable_free(struct variable *variable)
{
    free(variable->name);
    free(variable->whole);
    free(variable->file);
    free(variable->section);
    free(variable->text);
    free(variable->function);
    *variable = (struct variable){0};
}

/* ---- files ----------------------------------------------------------------------------------- */

void debug_files_query(struct report *r, uint32_t module, struct debug_files *out)
{
    const struct question q = {.kind = QUERY_DEBUG_FILES, .index = module};
    struct answer a;

    *out = (struct debug_files){0};
    if (r->no_symbols || !module_has_file(r, module))
        return;
    if (!helper_get(r)) {
        if (!r->no_symbols)
            debug_files_find(r, module, out);
    } else if (query(r, &q, &a)) {
        answer_get_debug_files(&a, out);
        free(a.text);
    }
}
