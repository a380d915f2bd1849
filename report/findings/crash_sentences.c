/*
 * crash_sentences.c - the wording of crashes: the signal, the access of the instruction, and what
 * is at the address.
 *
 *   SIGSEGV: write of 8 bytes at NULL + 16
 *   SIGSEGV: read of 1 byte inside a 24-byte block (offset 8) that was freed
 *   SIGSEGV: read of 8 bytes at a non-canonical address, 0xde9fb5c3a1d2e4f0; the address was read
 *            from freed memory, from a block of 88 bytes, and 16 was added
 *   SIGABRT: abort(), by a failed assertion
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"

/* ---- the signal ------------------------------------------------------------------------------ */

static const struct {
    int signal, code; /* code 0: of any other code */
    const char *text;
} reasons[] = {
    {SIGFPE, FPE_INTDIV, "integer division by zero, or a quotient that is too large"},
    {SIGFPE, FPE_INTOVF, "integer overflow"},
    {SIGFPE, FPE_FLTDIV, "floating-point division by zero"},
    {SIGFPE, FPE_FLTOVF, "floating-point overflow"},
    {SIGFPE, FPE_FLTINV, "invalid floating-point operation"},
    {SIGFPE, 0, "arithmetic exception"},
    {SIGILL, 0, "illegal instruction"},
    {SIGBUS, BUS_ADRALN, "misaligned access"},
    {SIGBUS, BUS_ADRERR, "access past the end of a mapped file"},
    {SIGBUS, 0, "bus error"},
    {SIGSYS, 0, "forbidden system call"},
    {SIGSEGV, 0, "invalid access"},
};

static const char *reason_of(const struct error *e)
{
    for (size_t i = 0; i < countof(reasons); i++)
        if (reasons[i].signal == (int)e->crash.signal &&
            (!reasons[i].code || reasons[i].code == e->crash.code))
            return reasons[i].text;
    return NULL;
}

static bool is_sent(const struct error *e)
{
    return e->crash.code <= 0;
}

/* Functions that call abort, by their symbols. */
static const struct {
    const char *function, *text;
} aborts[] = {
    {"__stack_chk_fail", ", by the stack protector: a buffer on the stack was overrun"},
    {"__assert_fail", ", by a failed assertion"},
    {"__assert_perror_fail", ", by a failed assertion"},
    {"__chk_fail", ", by a checked libc function: a buffer was too small (_FORTIFY_SOURCE)"},
    {"__cxa_pure_virtual", ", by a call of a pure virtual function"},
};

/* Functions of the C++ library that call std::terminate for an exception without a handler. */
static bool is_of_exception(const char *function)
{
    static const char *const beginnings[] = {"__cxa_", "__gxx_personality_", "_Unwind_",
                                             "_ZSt17rethrow_exception"};

    for (size_t i = 0; function && i < countof(beginnings); i++)
        if (strncmp(function, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

const char *crash_exception(const struct report *r, const struct error *e)
{
    const char *type = e->crash.record ? r->crashes[e->crash.record - 1].exception : "";

    return *type ? type : NULL;
}

char *format_exception(const struct report *r, const char *type)
{
    static const char before[] = "typeinfo for ";
    char *symbol, *plain;

    if (asprintf(&symbol, "_ZTI%s", type) < 0)
        symbol = xalloc(NULL);
    plain = r->is_mangled ? NULL : demangle(symbol);
    free(symbol);
    if (!plain || strncmp(plain, before, sizeof before - 1) != 0) {
        free(plain);
        return xalloc(strdup(type));
    }
    memmove(plain, plain + sizeof before - 1, strlen(plain) - sizeof before + 2);
    return plain;
}

/* `caller`: the symbol of the function that called std::terminate; NULL: not known. */
static void terminate_put(const struct report *r, const struct error *e, const char *caller,
                          FILE *out)
{
    const char *type = crash_exception(r, e);
    char *plain = type && is_of_exception(caller) ? format_exception(r, type) : NULL;

    fputs(", by std::terminate", out);
    if (plain)
        fprintf(out, ": uncaught %s", plain);
    free(plain);
}

/*
 * The other two end the program for an exception that leaves a noexcept function, by a function
 * without a symbol.
 */
static bool is_terminate(const char *function)
{
    return strcmp(function, "_ZSt9terminatev") == 0 ||
           strcmp(function, "__cxa_call_terminate") == 0 ||
           strcmp(function, "__gxx_personality_v0") == 0;
}

static const char *symbol_of(const struct report *r, const struct site *site, uint32_t i)
{
    return i < site->count ? r->frames[site->frames[i]].system_name : NULL;
}

static void abort_put(struct report *r, const struct error *e, FILE *out)
{
    if (e->stack == NO_SITE)
        return;
    symbolize_site(r, e->stack);
    const struct site *site = &r->sites[e->stack];
    for (uint32_t i = 0; i < site->count; i++) {
        const char *name = symbol_of(r, site, i);
        if (name && is_terminate(name)) {
            terminate_put(r, e, is_of_exception(name) ? name : symbol_of(r, site, i + 1), out);
            return;
        }
        for (size_t k = 0; name && k < countof(aborts); k++)
            if (strcmp(name, aborts[k].function) == 0) {
                fputs(aborts[k].text, out);
                return;
            }
    }
}

static void sent_put(struct report *r, const struct error *e, bool deterministic, FILE *out)
{
    const struct image *image = image_of(r, e->image);
    bool by_itself = image && e->crash.sender == (uint32_t)image->pid;

    if (by_itself && e->crash.signal == SIGABRT) {
        fputs(": abort()", out);
        abort_put(r, e, out);
    } else if (by_itself)
        fputs(", sent by the program itself", out);
    else if (deterministic || e->crash.sender == 0)
        fputs(", sent by another process", out);
    else
        fprintf(out, ", sent by process %u", e->crash.sender);
}

/* ---- the access ------------------------------------------------------------------------------ */

static void access_put(const struct error *e, FILE *out)
{
    static const char *const verbs[ACCESS_COUNT] = {"access", "read", "write", "execution"};

    fputs(e->crash.access < ACCESS_COUNT ? verbs[e->crash.access] : verbs[ACCESS_UNKNOWN], out);
    if (e->crash.access_bytes > 0)
        fprintf(out, " of %u byte%s", e->crash.access_bytes, e->crash.access_bytes == 1 ? "" : "s");
}

/* ---- the address ----------------------------------------------------------------------------- */

static void block_put(const struct error *e, FILE *out)
{
    uint64_t bytes = e->block_bytes, offset = e->address - e->block;

    if (e->address < e->block)
        fprintf(out, " %llu bytes before", (unsigned long long)(e->block - e->address));
    else if (offset < bytes)
        fputs(" inside", out);
    else
        fprintf(out, " %llu bytes past the end of", (unsigned long long)(offset - bytes));
    fprintf(out, " a block of %llu byte%s", (unsigned long long)bytes, bytes == 1 ? "" : "s");
    if (e->address >= e->block && offset < bytes)
        fprintf(out, " (offset %llu)", (unsigned long long)offset);
    if (e->block_state == BLOCK_FREED)
        fputs(" that was freed", out);
    else if (e->block_state == BLOCK_FREE)
        fputs(" that was freed, possibly an older block at this address", out);
}

static void mapped_put(struct report *r, const struct error *e, FILE *out)
{
    const struct region *region = &e->region;

    switch (region->what) {
    case REGION_STACK:
    case REGION_STACK_ALTERNATE:
        fputs(" on the stack of this thread", out);
        break;
    case REGION_STACK_OTHER:
    case REGION_STACK_ENDED:
        fputs(" on the stack of another thread", out);
        break;
    case REGION_MODULE:
        fputs(" in ", out);
        if (region->module == NO_MODULE)
            fputs(region->path[0] ? base_name(region->path) : "a program or library", out);
        else
            format_location(r, region->module, region->offset, out);
        break;
    case REGION_MAPPED:
        fprintf(out, " in %s", region->path[0] ? region->path : "memory mapped by the program");
        break;
    case REGION_HEAP:
        fputs(" in the heap, where no block was", out);
        break;
    default:
        fputs(" at an address", out);
        break;
    }
}

static void overflow_put(const struct report *r, const struct error *e, FILE *out)
{
    char *thread = format_thread(r, e->image, &e->thread);

    fprintf(out, " below the end of the stack of %s%s (stack overflow)",
            strcmp(thread, "main thread") == 0 ? "the " : "", thread);
    free(thread);
}

static void address_put(struct report *r, const struct error *e, bool deterministic, FILE *out)
{
    if (e->region.what == REGION_NULL) {
        fprintf(out, " at NULL + %llu", (unsigned long long)e->address);
        return;
    }
    if (e->crash.flags & CRASH_OF_STACK) {
        overflow_put(r, e, out);
        return;
    }
    if (e->crash.flags & CRASH_NON_CANONICAL)
        fputs(" at a non-canonical address", out);
    else if (error_is_in_block(e))
        block_put(e, out);
    else if (e->crash.flags & CRASH_IS_MAPPED)
        mapped_put(r, e, out);
    else if (e->crash.flags & CRASH_WAS_UNMAPPED)
        fputs(" at an address that was unmapped", out);
    else
        fputs(" at an address that is not mapped", out);
    if (!deterministic && !error_is_in_block(e))
        fprintf(out, ", 0x%llx", (unsigned long long)e->address);
    if (e->crash.flags & CRASH_IS_MAPPED && !error_is_in_block(e))
        fputs(": not permitted", out);
}

/* ---- where the address was read -------------------------------------------------------------- */

static void block_size_put(const struct error *e, FILE *out)
{
    fprintf(out, " a block of %llu byte%s", (unsigned long long)e->block_bytes,
            e->block_bytes == 1 ? "" : "s");
}

#define OFFSET_MAX (1ll << 20) /* of a member, or an element */

/* What the program added to the pointer that it read. */
static void offset_put(const struct error *e, FILE *out)
{
    uint64_t tag = e->crash.flags & CRASH_OF_FILL ? FILL_TAG_FREED : FILL_TAG_NEW;
    int64_t added = (int64_t)(e->address - fill_word_of(tag, e->block));

    if (added && llabs(added) <= OFFSET_MAX) /* else the word was perhaps an index */
        fprintf(out, ", and %llu was %s", (unsigned long long)llabs(added),
                added < 0 ? "subtracted" : "added");
}

static void freed_source_put(const struct report *r, const struct error *e, FILE *out)
{
    const struct image *image = image_of(r, e->image);

    fputs("; the address was read from freed memory", out);
    if (error_has_likely_block(e)) {
        fputs(", perhaps from", out);
        block_size_put(e, out);
    } else if (error_has_named_block(e) && e->block_state == BLOCK_LIVE) {
        fputs(", whose block is no longer known, or from uninitialised memory of", out);
        block_size_put(e, out);
        fputs(" in its place", out);
    } else if (error_has_named_block(e)) {
        fputs(", from", out);
        block_size_put(e, out);
        if (e->block_state != BLOCK_FREED)
            fputs(", possibly an older block at its place", out);
        offset_put(e, out);
    } else if (image && image->free_fill == FILL_OF_BLOCK + 1) {
        fputs(", whose block is not known", out);
    }
}

static void new_source_put(const struct error *e, FILE *out)
{
    fputs("; the address was read from uninitialised memory", out);
    if (!error_has_named_block(e)) {
        fputs(", whose block is not known", out);
        return;
    }
    fputs(" of", out);
    block_size_put(e, out);
    if (e->block_state == BLOCK_FREED)
        fputs(" that was freed since", out);
    else if (e->block_state != BLOCK_LIVE)
        fputs(", possibly an older block at its place", out);
    offset_put(e, out);
}

static void source_put(const struct report *r, const struct error *e, FILE *out)
{
    if (e->crash.flags & CRASH_OF_FILL)
        freed_source_put(r, e, out);
    else if (e->crash.flags & CRASH_OF_NEW_FILL)
        new_source_put(e, out);
}

void format_crash(struct report *r, const struct error *e, bool deterministic, FILE *out)
{
    const char *name = sigabbrev_np((int)e->crash.signal), *reason = reason_of(e);

    fprintf(out, "SIG%s", name ? name : "?");
    if (is_sent(e)) {
        sent_put(r, e, deterministic, out);
        return;
    }
    fputs(": ", out);
    if ((e->crash.flags & CRASH_HAS_ADDRESS && e->crash.signal == SIGSEGV) ||
        e->crash.flags & CRASH_NON_CANONICAL) { /* SIGBUS: by the register of the frame */
        access_put(e, out);
        address_put(r, e, deterministic, out);
    } else {
        fputs(reason ? reason : "fault", out);
    }
    source_put(r, e, out);
}
