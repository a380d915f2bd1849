/*
 * rules.c - the unwind rule of each address seen on a stack, made once and cached.
 *
 *   rules[]   dense, append-only; a rule never moves and, once published, never changes
 *   index     from a key to its rule's number (os/index.h): lookups take no lock
 *
 * Dense storage is important: a sparse table costs a page and a TLB entry for each address.
 *
 * When an object is unloaded its rules are dropped.  Rules of code outside of all objects are
 * dropped when an object may have been mapped there.  Dropping sets a bit in the key, so neither
 * hints nor the index find the rule.  The new rules_epoch invalidates all cached backtraces.  A
 * dropped rule is reused if the same object is mapped again at the same address.
 */
#include "index.h"
#include "instructions.h"
#include "unwinder_priv.h"

#include <sys/resource.h>

#define RULES_MAX (1u << 20)
#define RULES_FEW (1u << 13) /* if address space is limited */
#define SHARE 256u           /* fraction of a limited address space used for the table */
#define GROW_BYTES 65536u
#define INDEX_MIN 4096u
#define DROPPED (1ull << 63)
#define LONG_PROGRAM 512 /* bytes of CFI instructions */
static_assert(RULES_MAX <= INDEX_NUMBERS, "numbers fit");
static_assert(((ADDRESSES_END - 1) & DEPOT_PC_EXACT) == 0,
              "depot nodes have a bit above every address");

static struct rule nothing[1] = {{.key = DROPPED}};
struct rule *rules = nothing; /* rules[0] matches no key: the target of unset hints */
_Atomic uint32_t rules_epoch;
uint32_t frames_wanted = RTC_STACK_FRAMES;
uintptr_t (*original_of)(uintptr_t pc, bool is_return);
uintptr_t (*copy_end_of)(uintptr_t pc);

static struct {
    struct unwind_setup setup;
    struct lock lock;
    struct index *_Atomic index;
    _Atomic uint32_t count;
    _Atomic uint32_t room;    /* rules with allocated memory */
    uint32_t limit;           /* rules with reserved address space */
    _Atomic uint32_t outside; /* are there rules of code outside of all objects? */
    uint64_t index_bytes;
} table = {.lock = LOCK_INIT(RANK_RULES), .count = 1};

/* ---- making a rule --------------------------------------------------------------------------- */

/* gcc's realigned frames: CFA = *(rbp + offset), and the caller's rbp is saved where rbp points. */
static bool is_drap(const struct row *row, int32_t *offset)
{
    const struct column *cfa = &row->cfa, *bp = &row->column[DWARF_FP];
    if (cfa->kind != COLUMN_IS_EXPRESSION || cfa->bytes != 3 ||
        cfa->expression[0] != OP_FRAME_POINTER || cfa->expression[1] & 0x80 ||
        cfa->expression[2] != 0x06)
        return false;
    if (bp->kind != COLUMN_AT_EXPRESSION || bp->bytes != 2 ||
        bp->expression[0] != OP_FRAME_POINTER || bp->expression[1] != 0)
        return false;
    *offset = (int8_t)(cfa->expression[1] << 1) >> 1;
    return *offset % 8 == 0;
}

/* Set how rbp is recovered; false: not supported by struct rule. */
static bool takes_bp(const struct row *row, struct rule *r)
{
    const struct column *bp = &row->column[DWARF_FP];
    if (bp->kind == COLUMN_SAME)
        return true;
    if (bp->kind != COLUMN_AT_CFA || bp->offset >= 0 || bp->offset < -UINT16_MAX || bp->offset % 8)
        return false;
    r->saved_bp = (uint16_t)-bp->offset;
    return true;
}

static enum rule_kind kind_of(const struct row *row, bool signal, struct rule *r)
{
    const struct column *ra = &row->column[DWARF_RETURN], *cfa = &row->cfa;
    if (ra->kind == COLUMN_UNDEFINED)
        return RULE_END;
    if (signal || ra->kind != COLUMN_AT_CFA || ra->offset != RETURN_AT_CFA)
        return RULE_COMPLEX;
    if (is_drap(row, &r->offset))
        return RULE_DRAP;
    if (cfa->kind != COLUMN_AT_REGISTER || cfa->offset != (int32_t)cfa->offset || cfa->offset % 8 ||
        !takes_bp(row, r))
        return RULE_COMPLEX;
    r->offset = (int32_t)cfa->offset;
    if (cfa->reg == DWARF_SP && cfa->offset > 0)
        return RULE_SP;
    return cfa->reg == DWARF_FP ? RULE_BP : RULE_COMPLEX;
}

#ifdef RTC_MUTATE_RULE /* a mutation the stack tests must detect, independent of load addresses */
#define MUTATE(key, r)                                                            \
    if ((r)->kind == RULE_SP && ((key)&0xfff) * 0x9e3779b97f4a7c15ull >> 60 == 0) \
    (r)->offset += 8
#else
#define MUTATE(key, r) (void)0
#endif

static uintptr_t pc_of_key(uint64_t key)
{
    /* Within the call instruction: the next may belong to another function. */
    return (key & KEY_PC) - !(key & KEY_EXACT);
}

static COLD bool long_row(const struct cfi *f, uintptr_t pc, struct row *row)
{
    uint64_t begun = table.setup.long_begin();
    bool known = cfi_row(f, pc, row);
    table.setup.long_end(begun);
    return known;
}

/* Computing the row of a function of a hundred kilobytes takes as long as a hundred allocations. */
static bool make_row(const struct cfi *f, uintptr_t pc, struct row *row)
{
    if (f->end - f->code >= LONG_PROGRAM && table.setup.long_begin)
        return long_row(f, pc, row);
    if (table.setup.row_made)
        table.setup.row_made();
    return cfi_row(f, pc, row);
}

/* Make the rule of an address in an object from the object's CFI. */
static void make_inside(const struct object *o, uint64_t key, struct rule *r)
{
    uintptr_t pc = key & KEY_PC;
    struct cfi f = {.signal = false};
    struct row row;
    bool found = o->index && cfi_find(o, pc_of_key(key), &f);
    if (!found)
        r->offset = o->index != NULL;
    else if (f.signal && code_is_signal_return((const uint8_t *)pc))
        r->kind = RULE_SIGNAL;
    else
        r->kind = make_row(&f, pc_of_key(key), &row) ? kind_of(&row, f.signal, r) : RULE_COMPLEX;
    MUTATE(key, r);
}

/* false: the rule must not be cached. */
static bool make(uint64_t key, struct rule *r, bool may_grow)
{
    struct object o;
    *r = (struct rule){.key = key, .kind = RULE_CHAIN};
    if (!table.setup.find)
        r->kind = RULE_NONE;
    uint64_t original = original_key(key);
    r->to_original = (int32_t)(original - key); /* copies are in reach (plan_view.c) */
    if (!table.setup.find || !table.setup.find(pc_of_key(original), &o))
        return table.setup.find != NULL;
    make_inside(&o, original, r);
    r->module = table.setup.number(&o, may_grow);
    return r->module != 0;
}

bool object_of(uintptr_t pc, struct object *o)
{
    return table.setup.find && table.setup.find(pc, o);
}

uint32_t object_number(const struct object *o)
{
    return table.setup.number(o, false);
}

bool rule_row(uint64_t key, struct row *row, bool *restorer)
{
    struct object o;
    struct cfi f;
    *restorer = false;
    key = original_key(key);
    if (!table.setup.find || !table.setup.find(pc_of_key(key), &o))
        return false;
    bool found = o.index && cfi_find(&o, pc_of_key(key), &f);
    *restorer = found && f.signal && code_is_signal_return((const uint8_t *)(key & KEY_PC));
    return *restorer || (found && cfi_row(&f, pc_of_key(key), row));
}

/* ---- caching rules --------------------------------------------------------------------------- */

/* A dropped key has the same hash, because it keeps its place in the index. */
static uint64_t hash(uint64_t key)
{
    return (key & ~DROPPED) * 0x9e3779b97f4a7c15ull >> 32;
}

/* 0: the rule is being written, or its writer does not exist in this forked child. */
static uint64_t key_of(uint32_t n)
{
    return atomic_load_explicit(&rules[n].key, memory_order_acquire);
}

/* The number of a key's rule; 0: none, and *at is the free slot for it. */
static uint32_t look(const struct index *x, uint64_t key, uint32_t *at)
{
    for (uint32_t i = index_first(x, hash(key));; i = index_next(x, i)) {
        uint32_t slot = index_at(x, i), n = index_number(slot);
        *at = i;
        if (!slot || (index_may_be(slot, hash(key)) &&
                      atomic_load_explicit(&rules[n].key, memory_order_relaxed) == key))
            return n;
    }
}

/* Call it with the lock held. */
static void index_grow(void)
{
    struct index *old = atomic_load_explicit(&table.index, memory_order_relaxed);
    uint32_t count = atomic_load_explicit(&table.count, memory_order_acquire), at;
    if (!index_is_full(old, count))
        return;
    struct index *new = index_make(old ? (old->mask + 1) * 2 : INDEX_MIN);
    if (!new)
        return;
    for (uint32_t n = 1; n < count; n++) {
        uint64_t key = key_of(n);
        at = index_first(new, hash(key));
        /* Dropped rules of one address each have a slot. */
        while (key && !index_put(new, at, hash(key), n))
            at = index_next(new, at);
    }
    atomic_store_explicit(&table.index, new, memory_order_release);
    table.index_bytes = index_bytes(new);
    if (old)
        index_retire(old);
}

/* Call it with the lock held. */
static void rules_grow(void)
{
    uint32_t room = atomic_load_explicit(&table.room, memory_order_relaxed);
    if (atomic_load_explicit(&table.count, memory_order_relaxed) + 16 < room)
        return;
    uint64_t from = align_up((uint64_t)room * sizeof *rules, PAGE_BYTES), to = from + GROW_BYTES,
             end = align_up((uint64_t)table.limit * sizeof *rules, PAGE_BYTES);
    if (to <= end && os_allow((char *)rules + from, GROW_BYTES) == 0)
        atomic_store_explicit(&table.room, (uint32_t)(to / sizeof *rules), memory_order_release);
}

static void grow(void)
{
    lock_take(&table.lock);
    rules_grow();
    index_grow();
    lock_drop(&table.lock);
}

static bool needs_growth(void)
{
    uint32_t count = atomic_load_explicit(&table.count, memory_order_relaxed);
    return index_is_full(atomic_load_explicit(&table.index, memory_order_acquire), count) ||
           count + 16 >= atomic_load_explicit(&table.room, memory_order_relaxed);
}

/* Allocate the number of a new rule.  0: the table is full, or the index is and cannot grow. */
static uint32_t number_take(const struct index *x)
{
    uint32_t n = atomic_load_explicit(&table.count, memory_order_relaxed);
    do
        if (n >= atomic_load_explicit(&table.room, memory_order_acquire) || n >= index_limit(x))
            return 0;
    while (!atomic_compare_exchange_weak(&table.count, &n, n + 1));
    return n;
}

static bool is_same(const struct rule *a, const struct rule *b)
{
    return a->module == b->module && a->kind == b->kind && a->offset == b->offset &&
           a->saved_bp == b->saved_bp && a->to_original == b->to_original;
}

/*
 * Reuse an identical dropped rule.  0: there is none.  Several objects may have had rules for one
 * address.
 */
static uint32_t take_up(const struct index *x, const struct rule *r)
{
    uint64_t key = atomic_load_explicit(&r->key, memory_order_relaxed);
    for (uint32_t n, i = index_first(x, hash(key)); (n = index_number(index_at(x, i)));
         i = index_next(x, i)) {
        uint64_t dropped = key | DROPPED;
        if (key_of(n) == dropped && is_same(&rules[n], r) &&
            atomic_compare_exchange_strong(&rules[n].key, &dropped, key))
            return n;
    }
    return 0;
}

/*
 * The key is stored last (release), so every reader that sees the key sees the complete rule, also
 * a reader that scans all rules.
 */
static void publish(struct rule *new, const struct rule *r)
{
    new->offset = r->offset;
    new->saved_bp = r->saved_bp;
    new->kind = r->kind;
    new->module = r->module;
    new->to_original = r->to_original;
    uint64_t key = atomic_load_explicit(&r->key, memory_order_relaxed);
    atomic_store_explicit(&new->key, key, memory_order_release); /* pairs with key_of */
}

/*
 * Insert a number into the index, or return the number that another thread has inserted for the
 * key.
 */
static uint32_t insert(struct index *x, uint32_t n)
{
    uint64_t key = atomic_load_explicit(&rules[n].key, memory_order_relaxed);
    for (;;) {
        uint32_t at, known = look(x, key, &at);
        if (known)
            return known;
        if (index_put(x, at, hash(key), n))
            return n;
    }
}

static uint32_t keep(struct index *x, const struct rule *r)
{
    uint32_t old = take_up(x, r);
    if (old)
        return old;
    uint32_t n = number_take(x);
    if (!n)
        return 0;
    publish(&rules[n], r);
    return insert(x, n);
}

static uint32_t find(uint64_t key)
{
    struct index *x = atomic_load_explicit(&table.index, memory_order_acquire), *now;
    for (; x; x = now) {
        uint32_t at, n = look(x, key, &at);
        now = atomic_load_explicit(&table.index, memory_order_acquire);
        if (n || now == x)
            return n;
    }
    return 0;
}

/* 0: the rule cannot be cached. */
static uint32_t add(const struct rule *r, bool may_grow)
{
    if (may_grow && needs_growth())
        grow();
    struct index *x = atomic_load_explicit(&table.index, memory_order_acquire);
    uint32_t n = x ? keep(x, r) : 0;
    if (n && !r->module) /* not earlier: unwind_forget would miss the rule */
        atomic_store(&table.outside, 1);
    return n;
}

#define NEAR_BYTES (1ull << 32) /* maximum distance between functions of one JIT compiler */

static bool may_return(const struct rule *r, uintptr_t to)
{
    uintptr_t from = atomic_load_explicit(&r->key, memory_order_relaxed) & KEY_PC;
    struct object o;
    struct cfi f;
    to = original_key(to);
    if (!table.setup.find || !table.setup.find(to - 1, &o))
        return r->module ? r->offset : (from < to ? to - from : from - to) < NEAR_BYTES;
    return !o.index || !cfi_find(&o, to - 1, &f) ||
           code_is_call_before((const uint8_t *)to, to - f.start);
}

struct rule *rule_known(uint64_t key)
{
    uint32_t n = find(key);
    return n ? &rules[n] : NULL;
}

struct returning {
    const struct rule *r;
    uintptr_t to;
    bool may;
};

static void may_return_on_helper(void *about)
{
    struct returning *n = about;
    n->may = may_return(n->r, n->to);
}

bool rule_may_return(const struct rule *r, uintptr_t to)
{
    struct returning n = {.r = r, .to = to};
    if (to < 65536 || to > KEY_PC)
        return false;
    if (find(to))
        return true;
    helper_call(may_return_on_helper, &n);
    return n.may;
}

const struct rule *rule_of(uint64_t key, struct rule *spare, bool may_grow)
{
    uint32_t n = find(key);
    if (!n && make(key, spare, may_grow))
        n = add(spare, may_grow);
    return n ? &rules[n] : spare;
}

/* ---- start and dropping ---------------------------------------------------------------------- */

static uint32_t rules_affordable(void)
{
    uint64_t share = os_limit(RLIMIT_AS) / SHARE / sizeof *rules;
    return share > RULES_MAX ? RULES_MAX : share < RULES_FEW ? RULES_FEW : (uint32_t)share;
}

void unwind_start(const struct unwind_setup *setup)
{
    uint32_t limit = rules_affordable();
    char *at = os_reserve(NULL, (size_t)limit * sizeof *rules, false);
    if (os_failed(at)) {
        limit = RULES_FEW;
        at = os_reserve(NULL, (size_t)limit * sizeof *rules, false);
    }
    if (os_failed(at) || os_allow(at, GROW_BYTES))
        return;
    table.limit = limit;
    table.room = GROW_BYTES / sizeof *rules;
    rules = (struct rule *)(void *)at;
    rules[0] = (struct rule){.key = DROPPED};
    table.setup = *setup;
    original_of = setup->original;
    copy_end_of = setup->copy_end;
    frames_wanted = setup->frames;
    stacks_start();
    grow();
}

/* Drop the rules of one object, or all. */
static void drop(bool all, uint32_t number)
{
    uint32_t count = atomic_load_explicit(&table.count, memory_order_acquire);
    for (uint32_t n = 1; n < count; n++)
        if (key_of(n) && (all || rules[n].module == number))
            atomic_fetch_or_explicit(&rules[n].key, DROPPED, memory_order_relaxed);
    atomic_fetch_add_explicit(&rules_epoch, 1,
                              memory_order_release); /* pairs with stack_cache_update */
}

void unwind_forget(uint32_t number)
{
    if (number || atomic_exchange(&table.outside, 0))
        drop(false, number);
}

void unwind_after_fork(bool fresh)
{
    lock_reset(&table.lock);
    if (fresh)
        drop(true, 0);
}

struct unwind_totals unwind_totals(void)
{
    uint64_t count = atomic_load_explicit(&table.count, memory_order_relaxed);
    return (struct unwind_totals){.rules = count - 1,
                                  .bytes = count * sizeof *rules + table.index_bytes};
}
