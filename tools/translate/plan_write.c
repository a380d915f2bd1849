/* plan_write.c - the tables of a finished translation, in the form of the file, and the file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/bits.h"
#include "translate_priv.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static bool begins_block(const struct plan *p, const struct instruction *i, const uint32_t *end)
{
    uint64_t count = p->header.blocks.count;

    return count == 0 || i->offset != *end || p->blocks[count - 1].count == PLAN_STEPS_MOST;
}

static void make_blocks(struct plan *p, const struct emission *e)
{
    uint64_t *blocks = &p->header.blocks.count, *steps = &p->header.steps.count;
    uint32_t end = 0, copy_end = e->body_bytes;

    p->steps = zeroed(e->code->count, sizeof *p->steps);
    for (uint32_t n = 0; n < e->code->count; n++) {
        const struct instruction *i = &e->code->at[n];
        if (e->copy_of[n] == NONE)
            continue;
        if (*steps > 0)
            p->steps[*steps - 1].copy = (uint8_t)(e->copy_of[n] - copy_end);
        if (begins_block(p, i, &end)) {
            p->blocks = grown(p->blocks, (uint32_t)*blocks, sizeof *p->blocks);
            p->blocks[(*blocks)++] = (struct plan_block){
                .original = i->offset, .copy = e->copy_of[n], .first = (uint32_t)*steps};
        }
        p->blocks[*blocks - 1].count++;
        p->steps[(*steps)++].original = i->bytes;
        end = i->offset + i->bytes;
        copy_end = e->copy_of[n];
    }
    if (*steps > 0)
        p->steps[*steps - 1].copy = (uint8_t)(e->body_bytes - copy_end);
}

static void make_sites(struct plan *p, const struct emission *e)
{
    p->header.sites.count = e->site_count;
    p->sites = zeroed(e->site_count, sizeof *p->sites);
    for (uint32_t n = 0; n < e->site_count; n++) {
        const struct instruction *i = &e->code->at[e->sites[n].instruction];
        p->sites[n] = (struct plan_site){.cold = e->sites[n].cold,
                                         .original = i->offset,
                                         .bytes = e->sites[n].operand.bytes,
                                         .kind = e->sites[n].operand.kind};
    }
}

static uint64_t put_after(struct plan_array *a, uint64_t offset, size_t item)
{
    a->offset = align_up(offset, 8);
    return a->offset + a->count * item;
}

static void lay_out(struct plan_header *h)
{
    uint64_t end = put_after(&h->copy, PLAN_COPY_OFFSET, 1);

    end = put_after(&h->unwind, align_up(end, PLAN_COPY_OFFSET), 1);
    end = put_after(&h->functions, end, sizeof(struct plan_function));
    end = put_after(&h->blocks, end, sizeof(struct plan_block));
    end = put_after(&h->steps, end, sizeof(struct plan_step));
    end = put_after(&h->sites, end, sizeof(struct plan_site));
    h->file_bytes = put_after(&h->patches, end, sizeof(struct plan_patch));
}

struct plan *plan_make(struct emission *e, struct patches *patches,
                       const struct plan_statistics *statistics)
{
    struct plan *p = zeroed(1, sizeof *p);

    p->header = (struct plan_header){.magic = PLAN_MAGIC,
                                     .version = PLAN_VERSION,
                                     .header_bytes = sizeof p->header,
                                     .text_address = e->object->text_address,
                                     .text_bytes = e->object->text_bytes,
                                     .distance = e->how->distance,
                                     .spill = e->how->spill,
                                     .build_id_bytes = e->object->build_id_bytes,
                                     .copy = {.count = e->out.bytes},
                                     .unwind = {.count = e->unwind.bytes},
                                     .functions = {.count = e->functions->count},
                                     .patches = {.count = patches->count},
                                     .statistics = *statistics};
    memcpy(p->header.build_id, e->object->build_id, sizeof p->header.build_id);
    make_blocks(p, e);
    make_sites(p, e);
    p->functions = e->functions->at;
    p->copy = e->out;
    p->unwind = e->unwind;
    e->out = e->unwind = (struct buffer){0};
    p->patches = patches->at;
    lay_out(&p->header);
    return p;
}

bool plan_is_far(const struct plan *p)
{
    const struct plan_header *h = &p->header;

    return p->copy.is_far || p->unwind.is_far ||
           (h->distance - (int64_t)PLAN_COPY_OFFSET < (int64_t)h->text_bytes &&
            h->distance + (int64_t)plan_mapped_bytes(h) > 0);
}

void plan_free(struct plan *p)
{
    if (!p)
        return;
    free(p->copy.at);
    free(p->unwind.at);
    free(p->functions);
    free(p->blocks);
    free(p->steps);
    free(p->sites);
    free(p->patches);
    free(p);
}

const struct plan_statistics *plan_statistics(const struct plan *p)
{
    return &p->header.statistics;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Zeros up to an offset, then the items. */
static void write_at(FILE *out, uint64_t *end, const struct plan_array *a, const void *items,
                     size_t item)
{
    for (; *end < a->offset; ++*end)
        fputc(0, out);
    if (a->count > 0)
        fwrite(items, item, a->count, out);
    *end += a->count * item;
}

static void write_file(FILE *out, const struct plan *p)
{
    const struct plan_header *h = &p->header;
    uint64_t end = 0;

    write_at(out, &end, &(struct plan_array){.count = 1}, h, sizeof *h);
    write_at(out, &end, &h->copy, p->copy.at, 1);
    write_at(out, &end, &h->unwind, p->unwind.at, 1);
    write_at(out, &end, &h->functions, p->functions, sizeof *p->functions);
    write_at(out, &end, &h->blocks, p->blocks, sizeof *p->blocks);
    write_at(out, &end, &h->steps, p->steps, sizeof *p->steps);
    write_at(out, &end, &h->sites, p->sites, sizeof *p->sites);
    write_at(out, &end, &h->patches, p->patches, sizeof *p->patches);
}

/* In memory first, for its checksum. */
int plan_write(FILE *out, void *plan_)
{
    char *file = NULL;
    size_t bytes;
    FILE *memory = open_memstream(&file, &bytes);

    if (!memory)
        return -ENOMEM;
    write_file(memory, plan_);
    if (fclose(memory) != 0 || !file) {
        free(file);
        return -ENOMEM;
    }
    ((struct plan_header *)(void *)file)->checksum = plan_checksum(file, bytes);
    fwrite(file, 1, bytes, out);
    free(file);
    return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}
