/*
 * dump.c - print a run file unchanged, for developers of rtcheck: every table, segment and used
 * item, one line each. The last line has the verdict of verify.c.
 */
#include <errno.h>
#include <stdatomic.h>

#include "machine.h"
#include "read_priv.h"

/* Return names[n]; "?" if n, which may have any value, has no name. */
static const char *name_of(const char *const *names, size_t count, uint64_t n)
{
    return n < count && names[n] ? names[n] : "?";
}

#define NAME(names, n) name_of(names, countof(names), n)

static const char *const area_states[] = {"free", "claimed", "taking"};
static const char *const lease_states[] = {"free", "forking", "held", "left"};
static const char *const image_states[] = {"building", "open", "ending"};
static const char *const segment_states[] = {"building", "current", "superseded", "vacant"};
static const char *const segment_kinds[] = {
    NULL,       "slab",    "large",       "depot",       "threads",     "modules", "errors",
    "leaks",    "roots",   "leak_checks", "check_leaks", "check_roots", "texts",   "recorded",
    "mappings", "map_sum", "marks",       "dispatched",  "costs",       "crashes"};
static const char *const origins[] = {"untold", "existed", "called", "behind"};
static const char *const reaches[] = {"none",   "held", "interior", "register",
                                      "behind", "lost", "circle",   "lost_behind"};
static const char *const witnesses[] = {"nobody", "root", "block", "register", "self"};
static const char *const root_kinds[] = {"none", "stack", "module", "mapped", "given"};
static const char *const block_states[] = {"never", "live", "freed", "free", "inherited"};
static const char *const families[] = {"malloc",  "new",         "new[]",
                                       "aligned", "new aligned", "new[] aligned"};

static unsigned long long ull(uint64_t n)
{
    return n;
}

/* ---- the run --------------------------------------------------------------------------------- */

static void dump_run(const struct view *v, FILE *out)
{
    const struct run_header *run = v->run;

    fprintf(out,
            "run version=%u.%u features=0x%llx file_bytes=%llu area_bytes=%llu area_count=%u "
            "lease_count=%u\n",
            run->version_major, run->version_minor, ull(run->features), ull(run->file_bytes),
            ull(run->area_bytes), run->area_count, run->lease_count);
    fprintf(out,
            "run area_table=0x%llx lease_table=0x%llx heap=0x%llx+0x%llx mode=%u uid=%u "
            "launcher=%u\n",
            ull(run->area_table_offset), ull(run->lease_table_offset), ull(run->heap_offset),
            ull(run->heap_bytes), run->mode, run->uid, run->launcher_pid);
    fprintf(out,
            "run start_ns=%llu next_area=%u next_image=%u doorbell=%u reported=%u "
            "unrecorded=%u checks_asked=%u checks_told=%u\n",
            ull(run->start_ns), run->next_area, run->next_image, run->doorbell, run->reported,
            run->unrecorded_images, run->checks_requested, run->checks_reported);
    fprintf(out, "run taken_back images=%llu allocs=%llu frees=%llu blocks=%llu bytes=%llu\n",
            ull(run->reclaimed.images), ull(run->reclaimed.allocs), ull(run->reclaimed.frees),
            ull(run->reclaimed.live_blocks), ull(run->reclaimed.live_bytes));
    if (run->heap_error)
        fprintf(out, "run heap_error=%u\n", run->heap_error);
    if (run->pool_dir_error)
        fprintf(out, "run pool_dir_error=%u\n", run->pool_dir_error);
    fputs("run host=", out);
    text_put(out, run->host);
    fputs(" options=", out);
    text_put(out, run->options);
    fputc('\n', out);
}

static void dump_unchecked(const struct run_header *run, FILE *out)
{
    for (uint32_t i = 0; run->unchecked_offset && i < RTC_UNCHECKED_COUNT; i++) {
        const struct unchecked_record *u = &run_unchecked(run)[i];
        if (u->reason == UNCHECKED_NONE)
            continue;
        fprintf(out, "unchecked reason=%u flags=0x%x count=%llu path=", u->reason, u->flags,
                ull(u->count));
        text_put(out, u->path);
        fputc('\n', out);
    }
}

static void dump_leases(const struct view *v, FILE *out)
{
    for (uint32_t i = 0; i < v->run->lease_count; i++) {
        const struct lease *l = view_lease(v, i);
        if (l->state != LEASE_FREE)
            fprintf(out, "lease %u %s pid=%u parent=%u epoch=%u torn=%u child=%u\n", i,
                    NAME(lease_states, l->state), l->pid, l->parent, l->epoch, l->torn, l->child);
    }
}

/* ---- images ---------------------------------------------------------------------------------- */

static void dump_image_life(const struct image_header *h, FILE *out)
{
    fprintf(out, " image %u parent=%u pid=%u ppid=%u how=%s state=%s flags=0x%x\n", h->image,
            h->parent, h->pid, h->ppid, how_name(h->how), NAME(image_states, h->state), h->flags);
    fprintf(out,
            " image start_ns=%llu end_ns=%llu end_how=%u end_status=%d heap=0x%llx+0x%llx "
            "first_thread=%u first_depot_chunk=%u lease=%u\n",
            ull(h->start_ns), ull(h->end_ns), h->end_how, h->end_status, ull(h->heap_base),
            ull(h->heap_bytes), h->first_thread, h->first_depot_chunk, h->lease);
    fprintf(out,
            " image private_segments=%llu private_kinds=0x%x errors_unwritten=%u forks=%llu "
            "slab_copies=%llu handler_allocs=%llu "
            "bootstrap_allocs=%llu unchecked_children=%llu lost_features=0x%llx",
            ull(h->private_segments), h->private_kinds, h->errors_unwritten, ull(h->fork_count),
            ull(h->slab_copies), ull(h->handler_allocs), ull(h->bootstrap_allocs),
            ull(h->unchecked_children), ull(h->missing_features));
    for (unsigned n = 0; feature_name(n); n++)
        if (h->missing_features >> n & 1)
            fprintf(out, ",%s", feature_name(n));
    fputc('\n', out);
}

static void dump_image_counts(const struct image_header *h, FILE *out)
{
    fprintf(out,
            " image depot_nodes=%llu depot_stacks=%llu depot_bytes=%llu pc_count=%llu "
            "pc_bytes=%llu\n",
            ull(h->depot_nodes), ull(h->depot_stacks), ull(h->depot_bytes), ull(h->pc_count),
            ull(h->pc_bytes));
    fprintf(out, " image quarantine_bytes=%llu malloc_fill=%d free_fill=%d frames=%u\n",
            ull(h->quarantine_bytes), h->malloc_fill - 1, h->free_fill - 1, h->stack_frames);
    fprintf(out, " image lost duplicate=%llu misaligned=%llu bad=%llu foreign=%llu\n",
            ull(h->bad_frees[BAD_FREE_DUPLICATE]), ull(h->bad_frees[BAD_FREE_MISALIGNED]),
            ull(h->bad_frees[BAD_FREE_BAD]), ull(h->bad_frees[BAD_FREE_FOREIGN]));
    fprintf(out,
            " image checks=0x%x errors_unrecorded=%llu error_limit=%u peak_bytes=%llu "
            "segment_bytes=%llu\n",
            h->checks, ull(h->errors_unrecorded), h->error_limit, ull(h->peak_bytes),
            ull(h->segment_bytes));
    fprintf(out,
            " image costs_known=0x%x task_clock_ns=%llu faults=%llu/%llu switches=%llu/%llu "
            "max_rss_bytes=%llu\n",
            h->costs_known, ull(h->task_clock_ns), ull(h->minor_faults), ull(h->major_faults),
            ull(h->voluntary_switches), ull(h->involuntary_switches), ull(h->max_rss_bytes));
    fprintf(out,
            " image leak_check=%u threads_unheard=%u threads_waiting=%u leak_ns=%llu "
            "root_bytes=%llu skipped=%llu marks=%u "
            "leak_checks=%u\n",
            h->leak_check, h->threads_not_stopped, h->threads_waiting, ull(h->leak_ns),
            ull(h->root_bytes), ull(h->root_bytes_skipped), h->marks, h->leak_checks);
}

static void dump_image(const struct image_header *h, FILE *out)
{
    dump_image_life(h, out);
    dump_image_counts(h, out);
    fputs(" image exe=", out);
    text_put(out, h->exe);
    fputs(" argv=", out);
    for (uint32_t at = 0; at < h->argv_bytes; at++)
        if (h->argv[at] == 0)
            fputc(' ', out);
        else if (at == 0 || h->argv[at - 1] == 0)
            text_put(out, h->argv + at);
    fprintf(out, "(%u)\n", h->argc);
}

/* ---- items ----------------------------------------------------------------------------------- */

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

static void dump_items(const struct segment *s, FILE *out)
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
}

static void dump_segment(const struct segment *s, uint64_t off, FILE *out)
{
    fprintf(out, "  segment 0x%llx %s #%llu %s image=%u bytes=%u items=%u/%u of %u bytes epoch=%u",
            ull(off), NAME(segment_kinds, s->kind), ull(s->index), NAME(segment_states, s->state),
            s->image, s->bytes, s->count, s->capacity, s->item_bytes, s->epoch);
    if (s->kind == SEGMENT_SLAB)
        fprintf(out, " slot_bytes=%u units=%u", s->slot_bytes, s->units);
    fputc('\n', out);
    dump_items(s, out);
}

/* ---- areas ----------------------------------------------------------------------------------- */

/* A bad area is not walked: its lengths cannot be trusted. */
static void dump_area(const struct report *r, uint32_t area, FILE *out, struct verify_error *first)
{
    struct verify_error wrong = {"area cannot be read", area_offset(r->view.run, area)};
    const struct segment *s;
    struct area_copy copy;
    uint64_t off = 0;

    if (view_read_area(&r->view, area, &copy)) {
        *first = first->what ? *first : wrong;
        return;
    }
    fprintf(out, " head image=%u ordinal=%u previous=%u used_bytes=%llu\n", copy_head(&copy)->image,
            copy_head(&copy)->ordinal, copy_head(&copy)->previous,
            ull(copy_head(&copy)->used_bytes));
    if (view_verify_area(&r->view, area, &copy, &wrong)) {
        if (copy_image(&copy))
            dump_image(copy_image(&copy), out);
        while ((s = copy_next_segment(&copy, &off)))
            dump_segment(s, off, out);
    } else {
        fprintf(out, " bad: %s at 0x%llx\n", wrong.what, ull(wrong.offset));
        *first = first->what ? *first : wrong;
    }
    area_copy_drop(&copy);
}

int report_dump(struct report *r, FILE *out)
{
    struct verify_error first = {0};

    dump_run(&r->view, out);
    launcher_record_dump(&r->view, out, &first);
    dump_unchecked(r->view.run, out);
    dump_leases(&r->view, out);
    for (uint32_t area = 1; area < view_area_end(&r->view); area++) {
        const struct area_entry *entry = view_area_entry(&r->view, area);
        uint64_t owner = atomic_load_explicit(&entry->owner, memory_order_relaxed);
        fprintf(out, "area %u %s image=%u pid=%u populated_bytes=%u\n", area,
                NAME(area_states, area_owner_state(owner)), area_owner_image(owner), entry->pid,
                entry->populated_bytes);
        if (area_owner_state(owner) == AREA_CLAIMED)
            dump_area(r, area, out, &first);
    }
    if (!first.what)
        fputs("verify: good\n", out);
    else
        fprintf(out, "verify: %s at 0x%llx\n", first.what, ull(first.offset));
    return first.what ? -EBADMSG : 0;
}
