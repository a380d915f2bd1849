/*
 * dump_items.c - print the items of a segment: a function for each kind, as specified in records.h.
 */
#include <stdatomic.h>

#include "machine.h"
#include "dump_priv.h"

static const char *const origins[] = {"untold", "existed", "called", "behind"};
static const char *const reaches[] = {"none",   "held", "interior", "register",
                                      "behind", "lost", "circle",   "lost_behind"};
static const char *const witnesses[] = {"nobody", "root", "block", "register", "self"};
static const char *const root_kinds[] = {"none", "stack", "module", "mapped", "given"};
static const char *const block_states[] = {"never", "live", "freed", "free", "inherited"};
static const char *const families[] = {"malloc",  "new",         "new[]",
                                       "aligned", "new aligned", "new[] aligned"};

static void dump_word(uint64_t word, uint64_t stacks, FILE *out)
{
    fprintf(out, "%s %s flags=%u mark=%u gen=%u thread=%u size=%u align=%llu stacks=%llx/%llx\n",
            NAME(block_states, word_state(word)), NAME(families, word_family(word)),
            word_flags(word), word_mark(word), word_generation(word), word_thread(word),
            word_size(word), ull(align_of_code(word_align(word))), ull(stacks >> 32),
            ull(stacks & UINT32_MAX));
}

static void dump_slab(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->capacity; i++) {
        const struct block_record *b = segment_item(s, i);
        if (b->word == 0)
            continue; /* never used */
        fprintf(out, "   slot %u ", i);
        dump_word(b->word, b->stacks, out);
    }
}

static void dump_large(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct large_record *l = segment_item(s, i);
        if (l->block.word == 0)
            continue; /* never used */
        fprintf(out, "   large %u unit=%llu+%llu lead=%llu request=%llu epoch=%llu%s ", i,
                ull(l->unit), ull(l->units), ull(l->lead), ull(l->request), ull(l->epoch),
                l->superseded ? " superseded" : "");
        dump_word(l->block.word, l->block.stacks, out);
    }
}

static void dump_client_blocks(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct client_block_record *r = segment_item(s, i);
        if (r->block.word == 0)
            continue; /* never used */
        fprintf(out, "   recorded %u 0x%llx bytes=%llu ", i, ull(r->start), ull(r->bytes));
        dump_word(r->block.word, r->block.stacks, out);
    }
}

static void dump_depot(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct depot_node *n = segment_item(s, i);
        if (n->pc == 0)
            continue; /* never written */
        fprintf(out, "   stack %x pc=0x%llx%s module=%u parent=%x", depot_id((uint32_t)s->index, i),
                ull(depot_address(n->pc)), n->pc & DEPOT_PC_EXACT ? " exact" : "",
                depot_module(n->pc), depot_is_root(n->parent) ? 0 : n->parent);
        if (depot_is_root(n->parent) && depot_end(n->parent) != STACK_WHOLE)
            fprintf(out, " (%s)", stack_end_text(depot_end(n->parent)));
        fputc('\n', out);
    }
}

static void dump_threads(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct thread_record *t = segment_item(s, i);
        if (t->tid == 0 && t->number == 0 && t->allocs + t->frees > 0)
            fprintf(out, "   earlier threads allocs=%llu frees=%llu bytes=%llu/%llu\n",
                    ull(t->allocs), ull(t->frees), ull(t->alloc_bytes), ull(t->free_bytes));
        if (t->tid == 0)
            continue;
        fprintf(out,
                "   thread %u tid=%u%s allocs=%llu frees=%llu bytes=%llu/%llu inherited=%llu/%llu "
                "name=",
                t->number, t->tid, t->gone ? " gone" : "", ull(t->allocs), ull(t->frees),
                ull(t->alloc_bytes), ull(t->free_bytes), ull(t->inherited_blocks),
                ull(t->inherited_bytes));
        text_put(out, t->name);
        fputc('\n', out);
    }
}

static void dump_modules(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct module_record *m = segment_item(s, i);
        fprintf(out,
                "   module %u 0x%llx-0x%llx bias=0x%llx loaded=%u unloaded=%u build_id=", m->number,
                ull(m->start), ull(m->end), ull(m->bias), m->loaded, m->unloaded);
        for (uint32_t k = 0; k < m->build_id_bytes; k++)
            fprintf(out, "%02x", m->build_id[k]);
        fputc(' ', out);
        text_put(out, m->path);
        fputc('\n', out);
    }
}

static void dump_errors(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct error_record *e = segment_item(s, i);
        if (e->kind == ERROR_NONE)
            continue;
        fprintf(out,
                "   error %u %s entry=%u count=%llu time_ns=%llu address=0x%llx bytes=%llu "
                "stacks=%x/%x/%x "
                "thread=%u damage=%u",
                i, error_code(e->kind), e->entry, ull(e->count), ull(e->time_ns), ull(e->address),
                ull(e->bytes), e->stack, e->alloc_stack, e->free_stack, e->thread, e->damage);
        fprintf(out,
                " block=0x%llx+%llu %s %s thread=%u region=%u 0x%llx-0x%llx bias=0x%llx module=%u "
                "thread=%u found=",
                ull(e->block), ull(e->block_bytes), NAME(block_states, e->block_state),
                NAME(families, e->block_family), e->block_thread, e->region, ull(e->region_start),
                ull(e->region_end), ull(e->region_bias), e->region_module, e->region_thread);
        for (uint32_t k = 0; k < e->found_bytes; k++)
            fprintf(out, "%02x", e->found[k]);
        fprintf(out, " align=%llu/%llu ", ull(e->align), ull(e->block_align));
        text_put(out, e->region_path);
        fputc('\n', out);
    }
}

static void dump_crashes(const struct segment *s, FILE *out)
{
    static const char *const names[] = {DWARF_NAMES, PC_NAME, FLAGS_NAME};

    for (uint32_t i = 0; i < s->count; i++) {
        const struct crash_record *c = segment_item(s, i);
        fprintf(out, "   crash thread=%u pc=0x%llx exception=", c->thread, ull(c->pc));
        text_put(out, c->exception);
        for (uint32_t k = 0; k < c->registers && k < countof(names); k++)
            fprintf(out, " %s=0x%llx", names[k], ull(c->value[k]));
        fputc('\n', out);
    }
}

static void dump_leaks(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct leak_group *g = segment_item(s, i);
        if (g->reach == REACH_NONE)
            continue;
        fprintf(out, "   leak %u %s stack=%x blocks=%llu bytes=%llu new=%llu/%llu behind=%llu/%llu",
                i, NAME(reaches, g->reach), g->stack, ull(g->blocks), ull(g->bytes),
                ull(g->new_blocks), ull(g->new_bytes), ull(g->indirect_blocks),
                ull(g->indirect_bytes));
        fprintf(out,
                " block=0x%llx+%llu thread=%u by=%s value=0x%llx at=0x%llx from=0x%llx+%llu/%x",
                ull(g->block), ull(g->block_bytes), g->thread, NAME(witnesses, g->witness),
                ull(g->value), ull(g->at), ull(g->from), ull(g->from_bytes), g->from_stack);
        fprintf(out, " root=%u frame=0x%llx/%u/0x%llx/0x%llx on=%u/0x%llx\n", g->root,
                ull(depot_address(g->frame_pc)), depot_module(g->frame_pc), ull(g->frame_cfa),
                ull(g->frame_sp), g->on_thread, ull(g->control_block));
    }
}

static void dump_roots(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct root_record *root = segment_item(s, i);
        if (root->kind == ROOT_NONE)
            continue;
        fprintf(out, "   root %u %s 0x%llx-0x%llx bias=0x%llx thread=%u module=%u ", i,
                NAME(root_kinds, root->kind), ull(root->start), ull(root->end), ull(root->bias),
                root->thread, root->module);
        text_put(out, root->path);
        fputc('\n', out);
    }
}

static void dump_leak_checks(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct leak_check_record *c = segment_item(s, i);
        fprintf(out,
                "   leak check %u result=%u told=%u flags=%u thread=%u threads_unheard=%u "
                "threads_waiting=%u ns=%llu root_bytes=%llu skipped=%llu\n",
                c->number, c->result, c->reported, c->flags, c->thread, c->threads_not_stopped,
                c->threads_waiting, ull(c->ns), ull(c->root_bytes), ull(c->root_bytes_skipped));
    }
}

static void dump_texts(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct text_record *text = segment_item(s, i);
        fprintf(out, "   text %u kind=%u ", i, text->kind);
        text_put(out, text->text);
        fputc('\n', out);
    }
}

static void dump_mappings(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct map_region *m = segment_item(s, i);
        if (m->start == 0 && m->end == 0)
            continue; /* an empty slot */
        fprintf(
            out,
            "   mapping %u [0x%llx,0x%llx) rights=%u%s offset=0x%llx device=0x%llx inode=%llu %s",
            i, ull(m->start), ull(m->end), m->protection, m->shared ? " shared" : "",
            ull(m->offset), ull(m->device), ull(m->inode), NAME(origins, m->origin));
        fprintf(out, " call=%u stack=%u thread=%u mark=%u\n", m->call, m->stack, m->thread,
                m->mark);
    }
}

static void dump_map_sum(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct map_sum *sum = segment_item(s, i);
        fprintf(out,
                "   map_sum flags=0x%x first_call=%u mapped=%llu unmapped=%llu unseen=%llu "
                "bytes=%llu peak=%llu",
                sum->flags, sum->first_call, ull(sum->mapped), ull(sum->unmapped), ull(sum->unseen),
                ull(sum->bytes), ull(sum->peak_bytes));
        fprintf(out,
                " anew=%llu compared=%llu behind: objects=%llu stacks=%llu others=%llu gone=%llu "
                "changed=%llu\n",
                ull(sum->rebuilt), ull(sum->compared), ull(sum->unseen_objects),
                ull(sum->unseen_stacks), ull(sum->unseen_others), ull(sum->unseen_unmapped),
                ull(sum->unseen_changed));
    }
}

static void dump_marks(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct mark_record *m = segment_item(s, i);
        fprintf(out, "   mark %u time_ns=%llu blocks=%llu bytes=%llu allocs=%llu mapped=%llu\n",
                m->mark, ull(m->time_ns), ull(m->blocks), ull(m->bytes), ull(m->allocs),
                ull(m->mapped_bytes));
    }
}

static void dump_dispatched(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct dispatch_record *d = segment_item(s, i);
        fprintf(
            out,
            "   dispatched error=%d calls=%llu told=%llu uncovered=%llu call_ns=%u measured=%u\n",
            d->error, ull(d->calls), ull(d->reported), ull(d->uncovered), d->call_ns, d->measured);
    }
}

static void dump_times(const char *name, const _Atomic uint64_t *times, FILE *out)
{
    fprintf(out, "   %s ticks:operations", name);
    for (uint32_t i = 0; i < COST_TIMES; i++)
        if (times[i] != 0)
            fprintf(out, " %llu:%llu", ull(cost_time_least(i)), ull(times[i]));
    fputc('\n', out);
}

static void dump_costs(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct cost_record *c = segment_item(s, i);
        fprintf(out,
                "   costs every=%u clock_ticks=%u rate=%llu disturbed=%llu kernel_ticks=%llu "
                "stopped=%u\n",
                c->every, c->clock_ticks, ull(c->rate), ull(c->disturbed), ull(c->kernel_ticks),
                c->stopped);
        for (uint32_t k = 0; k < COST_WORK_COUNT; k++)
            fprintf(out, "   cost %s timed=%llu operations=%llu ticks=%llu faults=%llu ns=%llu\n",
                    cost_work_name(k), ull(c->work[k].timed), ull(c->work[k].operations),
                    ull(c->work[k].ticks), ull(c->work[k].faults), ull(c->work[k].ns));
        for (uint32_t k = 0; k < COST_OPERATION_COUNT; k++)
            fprintf(out, "   cost whole %s timed=%llu operations=%llu ticks=%llu faults=%llu\n",
                    cost_work_name(k), ull(c->whole[k].timed), ull(c->whole[k].operations),
                    ull(c->whole[k].ticks), ull(c->whole[k].faults));
        dump_times("allocations", c->alloc_times, out);
        dump_times("frees", c->free_times, out);
    }
}

static void dump_objects(const struct segment *s, FILE *out)
{
    for (uint32_t i = 0; i < s->count; i++) {
        const struct object_record *o = segment_item(s, i);
        fprintf(out, "   object native=%u text=%llu functions=", o->native, ull(o->text_bytes));
        for (uint32_t k = 0; k < OBJECT_STATES; k++)
            fprintf(out, "%s%llu", k > 0 ? "," : "", ull(o->function_bytes[k]));
        fprintf(out, " outside=%llu path=", ull(o->outside_bytes));
        text_put(out, o->path);
        fputc('\n', out);
    }
}

void dump_items(const struct segment *s, FILE *out)
{
    if (s->state != SEGMENT_CURRENT && s->state != SEGMENT_SUPERSEDED)
        return;
    if (s->kind == SEGMENT_SLAB)
        dump_slab(s, out);
    else if (s->kind == SEGMENT_LARGE)
        dump_large(s, out);
    else if (s->kind == SEGMENT_DEPOT)
        dump_depot(s, out);
    else if (s->kind == SEGMENT_THREADS)
        dump_threads(s, out);
    else if (s->kind == SEGMENT_MODULES)
        dump_modules(s, out);
    else if (s->kind == SEGMENT_ERRORS)
        dump_errors(s, out);
    else if (s->kind == SEGMENT_LEAKS || s->kind == SEGMENT_CHECK_LEAKS)
        dump_leaks(s, out);
    else if (s->kind == SEGMENT_ROOTS || s->kind == SEGMENT_CHECK_ROOTS)
        dump_roots(s, out);
    else if (s->kind == SEGMENT_LEAK_CHECKS)
        dump_leak_checks(s, out);
    else if (s->kind == SEGMENT_CLIENT_BLOCKS)
        dump_client_blocks(s, out);
    else if (s->kind == SEGMENT_TEXTS)
        dump_texts(s, out);
    else if (s->kind == SEGMENT_MAPPINGS)
        dump_mappings(s, out);
    else if (s->kind == SEGMENT_MAP_SUM)
        dump_map_sum(s, out);
    else if (s->kind == SEGMENT_MARKS)
        dump_marks(s, out);
    else if (s->kind == SEGMENT_DISPATCHED)
        dump_dispatched(s, out);
    else if (s->kind == SEGMENT_COSTS)
        dump_costs(s, out);
    else if (s->kind == SEGMENT_CRASHES)
        dump_crashes(s, out);
    else if (s->kind == SEGMENT_OBJECTS)
        dump_objects(s, out);
}
