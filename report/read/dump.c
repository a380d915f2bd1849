/*
 * dump.c - print a run file unchanged, for developers of rtcheck: every table, segment and used
 * item (dump_items.c), one line each. The last line has the verdict of verify.c.
 */
#include <errno.h>
#include <stdatomic.h>

#include "dump_priv.h"

static const char *const area_states[] = {"free", "claimed", "taking"};
static const char *const lease_states[] = {"free", "forking", "held", "left"};
static const char *const image_states[] = {"building", "open", "ending"};
static const char *const segment_states[] = {"building", "current", "superseded", "vacant"};
static const char *const segment_kinds[] = {
    NULL,       "slab",    "large",       "depot",       "threads",     "modules", "errors",
    "leaks",    "roots",   "leak_checks", "check_leaks", "check_roots", "texts",   "recorded",
    "mappings", "map_sum", "marks",       "dispatched",  "costs",       "crashes", "objects"};

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
    if (*run->folder) {
        fputs("run folder=", out);
        text_put(out, run->folder);
        fputs("\n", out);
    }
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

/* ---- segments -------------------------------------------------------------------------------- */

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
