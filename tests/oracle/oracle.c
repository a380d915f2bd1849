/*
 * oracle.c - compares one stack, frame by frame: pc and sp of each, its end, and the copy in the
 * depot.
 *
 * libunwind walks from here, through the frames of the runtime, to the frame that is the runtime's
 * first one; from there on both have to agree.  Signals are blocked meanwhile, so that no handler
 * can jump out of libunwind; libunwind's calls of malloc come through here and are not compared.
 */
#include "oracle_priv.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH 64u     /* frames of a stack that are promised */
#define INSIDE_MAX 16 /* frames of the runtime between us and the program */

bool oracle_follows_rbp = true;

struct stack {
    const struct oracle_frame *frame;
    unsigned count;
    enum oracle_end end;
    bool kept;
    const uintptr_t *decoded;
    unsigned decoded_count;
};

struct verdict {
    const char *wrong;  /* NULL: equal, or explained */
    unsigned at;        /* index of the frame */
    unsigned frames;    /* compared */
    uint64_t explained; /* bits of enum oracle_counter */
};

static unsigned promised(const struct stack *s)
{
    return s->count < DEPTH ? s->count : DEPTH;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static bool is_at(const struct walk *w, const struct oracle_frame *f)
{
    return w->more && w->pc == f->pc && w->sp == f->sp;
}

static bool enter(struct walk *w, const struct oracle_frame *first)
{
    walk_begin(w);
    for (int i = 0; i < INSIDE_MAX && w->more; i++) {
        if (is_at(w, first))
            return true;
        walk_step(w);
    }
    return false;
}

/*
 * After frame at-1, libunwind did not reach frame `at`. true: the stack is right nevertheless, and
 * the walk continues from there.
 */
static bool explained(struct walk *w, const struct stack *s, struct verdict *v, unsigned at)
{
    bool no_cfi = walk_has_no_cfi(s->frame[at - 1].pc);
    if (no_cfi && walk_step_by_rbp(w, &s->frame[at])) {
        v->explained |= 1u << COUNT_NO_CFI_SP;
        return true;
    }
    v->wrong = no_cfi                     ? "neither libunwind's nor what rbp leads to"
               : !w->more                 ? "libunwind ends before"
               : w->pc == s->frame[at].pc ? "sp"
                                          : "pc";
    v->at = at;
    return false;
}

/* The last frame has no CFI.  If rbp leads back to frames with CFI, the runtime must follow it. */
static bool leads_on(struct walk *w)
{
    for (unsigned i = 0; i < DEPTH && w->more && walk_has_no_cfi(w->pc); i++)
        walk_step(w);
    return w->more;
}

/* All frames are equal: libunwind has to end there, too, or we were allowed to cut. */
static void compare_end(struct walk *w, const struct stack *s, struct verdict *v)
{
    unsigned n = promised(s);
    v->at = n;
    if (n == DEPTH)
        return;
    if (s->end == ORACLE_CUT_DEPTH) {
        v->wrong = "cut before its depth";
        return;
    }
    walk_step(w);
    if (!w->more)
        return;
    if (walk_has_no_cfi(s->frame[n - 1].pc) && (!oracle_follows_rbp || !leads_on(w)))
        v->explained |= 1u << COUNT_NO_CFI_END;
    else if (s->end == ORACLE_NO_INFO && !walk_has_index(s->frame[n - 1].pc))
        v->explained |= 1u << COUNT_NO_INDEX_END;
    else
        v->wrong = "libunwind goes on behind";
}

static void compare_decoded(const struct stack *s, struct verdict *v)
{
    unsigned n = promised(s);
    for (unsigned i = 0; i < n && !v->wrong; i++)
        if (i >= s->decoded_count || s->decoded[i] != s->frame[i].pc) {
            v->wrong = "the depot gives another pc";
            v->at = i;
        }
}

static struct verdict compare(struct walk *w, const struct stack *s)
{
    struct verdict v = {0};
    if (!s->count || !enter(w, &s->frame[0])) {
        v.wrong = "libunwind does not come by the first frame";
        return v;
    }
    for (v.frames = 1; v.frames < promised(s); v.frames++) {
        walk_step(w);
        if (!is_at(w, &s->frame[v.frames]) && !explained(w, s, &v, v.frames))
            break;
    }
    if (v.frames == promised(s))
        compare_end(w, s, &v);
    compare_decoded(s, &v);
    return v;
}

/* ---- telling -------------------------------------------------------------------------------- */

struct note {
    char *at, *end;
};

static void __attribute__((format(printf, 2, 3))) put(struct note *to, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(to->at, (size_t)(to->end - to->at), format, list);
    va_end(list);
    if (n > 0)
        to->at += n < to->end - to->at ? n : to->end - to->at - 1;
}

static void put_frame(struct note *to, unsigned i, uintptr_t pc, uintptr_t sp, const char *mark)
{
    Dl_info where;
    put(to, "    %c%2u pc %012lx sp %012lx", *mark, i, pc, sp);
    if (dladdr((void *)(pc - 1), &where) && where.dli_fname) {
        const char *slash = strrchr(where.dli_fname, '/');
        put(to, " %s+0x%lx", slash ? slash + 1 : where.dli_fname, pc - (uintptr_t)where.dli_fbase);
        if (where.dli_sname)
            put(to, " %s", where.dli_sname);
    }
    put(to, "\n");
}

static unsigned near(const struct verdict *v, unsigned i)
{
    return i + 4 >= v->at && i <= v->at + 4;
}

static void report_frames(struct walk *w, const unw_context_t *here, const struct stack *s,
                          const struct verdict *v)
{
    static const char *const end[] = {"outermost", "cut", "no info", "left the stack", "other"};
    char *room = results_note();
    if (!room)
        return;
    struct note to = {room, room + NOTE_BYTES};
    put(&to, "frame %u: %s; %u frames, %s, %s\n  ours:\n", v->at, v->wrong, s->count, end[s->end],
        s->kept ? "kept" : "stateless");
    for (unsigned i = 0; i < promised(s); i++)
        if (near(v, i))
            put_frame(&to, i, s->frame[i].pc, s->frame[i].sp, i == v->at ? "*" : " ");
    if (v->at < s->decoded_count)
        put(&to, "  the depot's:\n    *%2u pc %012lx\n", v->at, s->decoded[v->at]);
    put(&to, "  libunwind's:\n");
    memcpy(&w->context, here, sizeof w->context);
    if (!s->count || !enter(w, &s->frame[0]))
        walk_begin(w);
    for (unsigned i = 0; w->more && i < DEPTH; i++, walk_step(w))
        if (near(v, i))
            put_frame(&to, i, w->pc, w->sp, i == v->at ? "*" : " ");
    if (w->error)
        put(&to, "    error %d\n", w->error);
}

static void count(const struct stack *s, const struct verdict *v)
{
    results_add(COUNT_COMPARED, 1);
    results_add(COUNT_KEPT, s->kept);
    results_add(COUNT_FRAMES, v->frames);
    results_add(COUNT_UNEQUAL, v->wrong != NULL);
    for (int i = 0; i < COUNTERS && !v->wrong; i++)
        results_add((enum oracle_counter)i, v->explained >> i & 1);
}

static void judge(const struct stack *s)
{
    unw_context_t here;
    struct walk w;
    reference_context(&here);
    memcpy(&w.context, &here, sizeof here);
    struct verdict v = compare(&w, s);
    count(s, &v);
    if (v.wrong)
        report_frames(&w, &here, s, &v);
}

/* ---- the door ------------------------------------------------------------------------------- */

static __thread bool busy;

static void check(const struct stack *s)
{
    busy = true;
    if (reference_ready(s->count ? s->frame[0].pc : 0))
        judge(s);
    else
        results_add(COUNT_EARLY, 1);
    busy = false;
}

void oracle_check(const struct oracle_frame *frame, unsigned count, enum oracle_end end, bool kept,
                  const uintptr_t *decoded, unsigned decoded_count)
{
    struct stack s = {frame, count, end, kept, decoded, decoded_count};
    int saved = errno;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    if (results_open()) {
        if (busy) {
            results_add(COUNT_TAKEN, 1);
            results_add(COUNT_NESTED, 1);
        } else if (results_sample()) {
            check(&s);
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = saved;
}
