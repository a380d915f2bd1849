/*
 * test_verify.c - every rule of verify.c: kept, and violated once.
 *
 * Each case corrupts one field of a valid file and has the expected message; the twins are unusual
 * but valid files, which must pass.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "good_file.h"

/* The message about the file, NULL = it is valid. */
static const char *complaint(const struct sample *s, uint64_t *offset)
{
    struct verify_error err = {"untouched", 1};

    if (!verify_run(build_run(&s->b), s->b.bytes, &err)) {
        assert_non_null(err.what);
        *offset = err.offset;
        return err.what;
    }
    for (uint32_t area = 1; area < s->b.next_area; area++)
        if (!verify_area(build_area_at(&s->b, area), BUILD_AREA_BYTES, build_run(&s->b), area,
                         &err)) {
            assert_non_null(err.what);
            *offset = err.offset;
            return err.what;
        }
    uint64_t launcher = build_run(&s->b)->launcher_offset;
    if (launcher != 0 && !verify_launcher((const void *)(s->b.file + launcher), launcher, &err)) {
        assert_non_null(err.what);
        *offset = err.offset;
        return err.what;
    }
    assert_null(err.what);
    return NULL;
}

static void fill(void *text, size_t bytes)
{
    memset(text, 'x', bytes);
}

static void set_state(struct block_record *b, uint64_t state)
{
    b->word = (b->word & ~(uint64_t)BLOCK_STATE_MASK) | state;
}

static void set_family(struct block_record *b, uint64_t family)
{
    b->word |= family << BLOCK_FAMILY_SHIFT;
}

/* The last area becomes the heap. */
static void heap_after_areas(struct sample *s)
{
    run(s)->area_count--;
    run(s)->heap_offset = s->b.bytes - BUILD_AREA_BYTES;
    run(s)->heap_bytes = BUILD_AREA_BYTES;
}

static void heaps(struct sample *s, uint32_t count)
{
    run(s)->heap_count = count;
    run(s)->heap_table_offset = run_unchecked_end(run(s));
}

/* The tables in the other order, both empty, with `overlap` bytes in common. */
static void leases_first(struct sample *s, uint64_t overlap)
{
    build_entry(&s->b, s->area)->owner = 0;
    build_entry(&s->b, s->second)->owner = 0;
    run(s)->lease_table_offset = RTC_AREA_TABLE_OFFSET;
    run(s)->area_table_offset =
        RTC_AREA_TABLE_OFFSET + RTC_LEASE_COUNT * sizeof(struct lease) - overlap;
}

/* A vacant segment up to the area's last byte. */
static void fill_area(struct sample *s)
{
    uint32_t room = (uint32_t)(BUILD_AREA_BYTES - second(s)->used_bytes);
    struct segment *filler = build_segment(&s->b, s->second, SEGMENT_SLAB, 64, room / 64 - 1, 0);

    filler->state = SEGMENT_VACANT;
    assert_int_equal(second(s)->used_bytes, BUILD_AREA_BYTES);
}

/* name, change of the valid file `s`, expected message ("" = it is still valid) */
#define CASES                                                                                      \
    CASE(good, (void)s, "")                                                                        \
    /* the run */                                                                                  \
    CASE(magic, run(s)->magic++, "not a run file")                                                 \
    CASE(major, run(s)->version_major++, "another major version")                                  \
    CASE(minor_is_free, run(s)->version_minor = 77, "")                                            \
    CASE(features_are_free, run(s)->features = ~0ull, "")                                          \
    CASE(cut_file, run(s)->file_bytes++, "file is cut, or longer than any")                        \
    CASE(no_areas, run(s)->area_count = 0, "no areas, or too many")                                \
    CASE(many_areas, run(s)->area_count = RTC_AREA_COUNT_MAX + 1, "no areas, or too many")         \
    CASE(area_bytes, run(s)->area_bytes = 3 * 4096, "area size is no power of two")                \
    CASE(area_bytes_zero, run(s)->area_bytes = 0, "area size is no power of two")                  \
    CASE(area_bytes_tiny, run(s)->area_bytes = 4096, "area size is no power of two")               \
    CASE(area_bytes_wrap, run(s)->area_bytes = 1ull << 63, "areas do not fit the file")            \
    CASE(areas_too_long, run(s)->area_bytes *= 2, "areas do not fit the file")                     \
    CASE(mode_zero, run(s)->mode = 0, "unknown mode")                                              \
    CASE(mode_high, run(s)->mode = 3, "unknown mode")                                              \
    CASE(folder, fill(run(s)->folder, sizeof run(s)->folder), "folder has no end")                 \
    CASE(host, fill(run(s)->host, sizeof run(s)->host), "host name has no end")                    \
    CASE(options, fill(run(s)->options, sizeof run(s)->options), "options have no end")            \
    CASE(heap_among_areas, run(s)->heap_offset = 4096;                                             \
         run(s)->heap_bytes = 4096, "heap outside its part of the file")                           \
    CASE(heap_beyond, run(s)->heap_offset = s->b.bytes;                                            \
         run(s)->heap_bytes = 1, "heap outside its part of the file")                              \
    CASE(heap_odd, run(s)->area_count--;                                                           \
         run(s)->heap_offset = s->b.bytes - 100, "heap outside its part of the file")              \
    CASE(heap_good, heap_after_areas(s), "")                                                       \
    CASE(heaps_without_table, run(s)->heap_count = 1, "too many heaps")                            \
    CASE(heaps, (heap_after_areas(s), heaps(s, 1)), "")                                            \
    CASE(heaps_beyond, (heap_after_areas(s), heaps(s, 2)), "heap outside its part of the file")    \
    CASE(heaps_too_many, (heap_after_areas(s), heaps(s, RTC_HEAPS_MAX + 1)), "too many heaps")     \
    CASE(heaps_table_early, (heap_after_areas(s), heaps(s, 1), run(s)->heap_table_offset -= 8),    \
         "table of heaps outside its place")                                                       \
    CASE(heaps_table_beyond, (heaps(s, 1), run(s)->heap_table_offset = BUILD_AREA_BYTES - 8),      \
         "table of heaps outside its place")                                                       \
    CASE(table_in_header, run(s)->area_table_offset = 8, "area table outside the run's head")      \
    CASE(table_beyond, run(s)->area_table_offset = BUILD_AREA_BYTES,                               \
         "area table outside the run's head")                                                      \
    CASE(table_odd, run(s)->area_table_offset += 4, "area table outside the run's head")           \
    CASE(table_wraps, run(s)->area_table_offset = ~0ull - 7, "area table outside the run's head")  \
    CASE(table_after_header, run(s)->area_table_offset = sizeof(struct run_header), "")            \
    CASE(leases_first, leases_first(s, 0), "")                                                     \
    CASE(leases_first_overlap, leases_first(s, 8), "area and lease table overlap")                 \
    CASE(lease_count, run(s)->lease_count++, "too many leases")                                    \
    CASE(leases_beyond, run(s)->lease_table_offset = BUILD_AREA_BYTES - 8,                         \
         "lease table outside the run's head")                                                     \
    CASE(tables_overlap, run(s)->lease_table_offset = run(s)->area_table_offset,                   \
         "area and lease table overlap")                                                           \
    CASE(area_state, build_entry(&s->b, 3)->owner = 3ull << 32, "area in an unknown state")        \
    CASE(area_taking, build_entry(&s->b, 3)->owner = area_owner(AREA_RECLAIMING, 9), "")           \
    CASE(lease_state, build_lease(&s->b, 9)->state = 4, "lease in an unknown state")               \
    CASE(lease_execed, build_lease(&s->b, 9)->state = LEASE_EXECED, "")                            \
    CASE(unchecked_none, run(s)->unchecked_offset = 0, "")                                         \
    CASE(unchecked_in_leases, run(s)->unchecked_offset -= 8, "unchecked table outside its place")  \
    CASE(unchecked_odd, run(s)->unchecked_offset += 4, "unchecked table outside its place")        \
    CASE(unchecked_beyond, run(s)->unchecked_offset = BUILD_AREA_BYTES - 8,                        \
         "unchecked table outside its place")                                                      \
    CASE(unchecked_wraps, run(s)->unchecked_offset = ~0ull - 7,                                    \
         "unchecked table outside its place")                                                      \
    CASE(unchecked_path, fill(run_unchecked(run(s))[63].path, 240),                                \
         "path of an unchecked program has no end")                                                \
    CASE(unchecked_reason, run_unchecked(run(s))[63].reason = 4711, "")                            \
    CASE(launcher, launcher(s), "")                                                                \
    CASE(launcher_in_table, launcher(s);                                                           \
         run(s)->launcher_offset -= 8, "what the launcher told is outside its place")              \
    CASE(launcher_odd, launcher(s);                                                                \
         run(s)->launcher_offset += 4, "what the launcher told is outside its place")              \
    CASE(launcher_last,                                                                            \
         run(s)->launcher_offset = BUILD_AREA_BYTES - sizeof(struct launcher_record), "")          \
    CASE(launcher_beyond,                                                                          \
         run(s)->launcher_offset = BUILD_AREA_BYTES - sizeof(struct launcher_record) + 8,          \
         "what the launcher told is outside its place")                                            \
    CASE(launcher_wraps, run(s)->launcher_offset = ~0ull - 7,                                      \
         "what the launcher told is outside its place")                                            \
    CASE(launcher_many, launcher(s)->counters = LAUNCHER_COUNTERS_MAX + 1,                         \
         "more counters than fit")                                                                 \
    CASE(launcher_all, launcher(s)->counters = LAUNCHER_COUNTERS_MAX, "")                          \
    CASE(launcher_name, fill(launcher(s)->counter[0].name, LAUNCHER_NAME_BYTES),                   \
         "a counter's words have no end")                                                          \
    CASE(launcher_text, fill(launcher(s)->counter[0].text, LAUNCHER_TEXT_BYTES),                   \
         "a counter's words have no end")                                                          \
    CASE(launcher_after, fill(launcher(s)->counter[1].name, LAUNCHER_NAME_BYTES), "")              \
    CASE(launcher_estimate, launcher(s)->counter[0].flags = LAUNCHER_SCALED;                       \
         launcher(s)->counter[0].enabled_ns = 1, "")                                               \
    CASE(launcher_no_estimate, launcher(s)->counter[0].flags = LAUNCHER_SCALED,                    \
         "an estimate of what was counted all the time")                                           \
    CASE(launcher_no_number, launcher(s)->measured.of[3].least_without = 0.0 / 0.0,                \
         "a measure is no such number")                                                            \
    CASE(launcher_below, launcher(s)->measured.of[0].with = -1, "a measure is no such number")     \
    CASE(launcher_huge, launcher(s)->measured.of[2].high = 1e300, "a measure is no such number")   \
    CASE(launcher_sure, launcher(s)->measured.sure = 0.0 / 0.0, "a measure is no such number")     \
    /* area heads */                                                                               \
    CASE(area_blank, memset(build_area_at(&s->b, s->area), 0, BUILD_AREA_BYTES), "")               \
    CASE(head_not_begun, head(s)->magic = 0, "")                                                   \
    CASE(head_magic, head(s)->magic++, "no area head where one must be")                           \
    CASE(head_index, head(s)->area++, "head of another area")                                      \
    CASE(head_image, head(s)->image = 0, "area without an image")                                  \
    CASE(head_first_has_no_previous, head(s)->previous = 2, "area without its predecessor")        \
    CASE(head_later_has_one, second(s)->previous = 0, "area without its predecessor")              \
    CASE(head_not_itself, second(s)->previous = s->second, "area with an impossible predecessor")  \
    CASE(head_previous, second(s)->previous = BUILD_AREAS, "area with an impossible predecessor")  \
    CASE(used_beyond, head(s)->used_bytes = BUILD_AREA_BYTES + 64,                                 \
         "area with an impossible length")                                                         \
    CASE(used_odd, head(s)->used_bytes -= 8, "area with an impossible length")                     \
    CASE(used_before_first, head(s)->used_bytes = 64, "area ends before its first segment")        \
    /* images */                                                                                   \
    CASE(image_building, image(s)->magic = 0, "")                                                  \
    CASE(image_new, head(s)->used_bytes = RTC_AREA_HEAD_BYTES, "")                                 \
    CASE(image_magic, image(s)->magic++, "no image header where one must be")                      \
    CASE(image_number, image(s)->image++, "header of another image")                               \
    CASE(image_parent, image(s)->parent = 7, "image older than its parent")                        \
    CASE(image_no_parent, image(s)->parent = 0, "")                                                \
    CASE(image_how_zero, image(s)->how = 0, "image of unknown origin")                             \
    CASE(image_how, image(s)->how = 5, "image of unknown origin")                                  \
    CASE(image_root, image(s)->how = IMAGE_ROOT, "")                                               \
    CASE(image_unseen, image(s)->how = IMAGE_FORK_UNSEEN, "")                                      \
    CASE(image_state, image(s)->state = 3, "image in an unknown state")                            \
    CASE(image_killed, image(s)->state = IMAGE_OPEN; image(s)->end_how = 0, "")                    \
    CASE(image_end, image(s)->end_how = 5, "image with an unknown end")                            \
    CASE(image_exec, image(s)->end_how = END_EXEC, "")                                             \
    CASE(image_alone, head(s)->used_bytes = RTC_AREA_HEAD_BYTES + image(s)->header_bytes, "")      \
    CASE(image_heap, image(s)->heap_bytes = ~0ull, "heap without an end")                          \
    CASE(image_header_short, image(s)->header_bytes = 64, "image header of an impossible length")  \
    CASE(image_header_odd, image(s)->header_bytes += 8, "image header of an impossible length")    \
    CASE(image_header_long, image(s)->header_bytes = 0xffffffc0u,                                  \
         "area ends before its first segment")                                                     \
    CASE(image_exe, fill(image(s)->exe, sizeof image(s)->exe), "program path has no end")          \
    CASE(image_name, fill(image(s)->name, sizeof image(s)->name), "program name has no end")       \
    CASE(image_argv, fill(image(s)->argv, 6), "arguments have no end")                             \
    CASE(image_argv_long, image(s)->argv_bytes = 2049, "arguments have no end")                    \
    CASE(image_argv_full, fill(image(s)->argv, 2047); image(s)->argv_bytes = 2048, "")             \
    CASE(image_argv_none, image(s)->argv_bytes = 0, "")                                            \
    /* the chain */                                                                                \
    CASE(segment_magic, s->slab->magic++, "no segment where one must begin")                       \
    CASE(segment_zero, s->slab->bytes = 0, "segment of an impossible length")                      \
    CASE(segment_short, s->slab->bytes = 32, "segment of an impossible length")                    \
    CASE(segment_empty, build_segment(&s->b, s->second, SEGMENT_DEPOT, 16, 0, 9), "")              \
    CASE(area_full, fill_area(s), "")                                                              \
    CASE(segment_odd, s->slab->bytes += 8, "segment of an impossible length")                      \
    CASE(segment_over_end, s->roots->bytes += 64, "segment reaches over the end")                  \
    CASE(segment_under_end, s->roots->bytes -= 64, "items do not fit the segment")                 \
    CASE(segment_state, s->slab->state = 4, "segment in an unknown state")                         \
    CASE(segment_image, s->slab->image++, "segment of another image")                              \
    CASE(segment_no_kind, s->slab->kind = 0, "segment without a kind")                             \
    CASE(segment_later_kind, s->slab->kind = SEGMENT_KIND_COUNT; s->slab->item_bytes = 3, "")      \
    CASE(segment_building, s->slab->state = SEGMENT_BUILDING; s->slab->kind = 0, "")               \
    CASE(segment_vacant, s->slab->state = SEGMENT_VACANT; s->slab->capacity = ~0u, "")             \
    CASE(segment_vacant_chain, s->slab->state = SEGMENT_VACANT;                                    \
         s->slab->bytes = 0, "segment of an impossible length")                                    \
    CASE(segment_superseded, s->slab->state = SEGMENT_SUPERSEDED;                                  \
         s->slab->slot_bytes = 0, "slab without slots or units")                                   \
    CASE(item_short, s->slab->item_bytes = 8, "items of a strange size")                           \
    CASE(item_odd, s->slab->item_bytes = 20, "items of a strange size")                            \
    CASE(item_wide, s->slab->item_bytes = 32; s->slab->count = 50; s->slab->capacity = 50, "")     \
    CASE(capacity, s->slab->count = 1000;                                                          \
         s->slab->capacity = 1000, "items do not fit the segment")                                 \
    CASE(capacity_wide, s->slab->item_bytes = 0xfff8, "items do not fit the segment")              \
    CASE(count, s->depot->count = s->depot->capacity + 1, "more items than fit")                   \
    /* slabs */                                                                                    \
    CASE(slab_slot, s->slab->slot_bytes = 0, "slab without slots or units")                        \
    CASE(slab_units, s->slab->units = 0, "slab without slots or units")                            \
    CASE(slab_index, s->slab->index = 1ull << 31, "slab outside any heap")                         \
    CASE(slab_last_unit, s->slab->index = (1ull << 31) - 1, "")                                    \
    CASE(slab_index_wraps, s->slab->index = ~0ull, "slab outside any heap")                        \
    CASE(slab_slots, s->slab->slot_bytes = 656, "slots do not fit the slab")                       \
    CASE(slab_slots_just, s->slab->slot_bytes = 655, "")                                           \
    CASE(slab_full, s->last->slot_bytes = 1024, "")                                                \
    CASE(slab_overfull, s->last->slot_bytes = 1025, "slots do not fit the slab")                   \
    CASE(slab_count, s->slab->count--, "slab with missing records")                                \
    CASE(block_state, set_state(block(s, 50), 5), "block in an unknown state or family")           \
    CASE(block_family, set_family(block(s, 0), FAMILY_COUNT),                                      \
         "block in an unknown state or family")                                                    \
    CASE(block_redzone, build_block(s->slab, 0, BLOCK_LIVE, 32, 0),                                \
         "block leaves no redzone in its slot")                                                    \
    CASE(block_freed_redzone, build_block(s->slab, 99, BLOCK_FREED, 32, 0),                        \
         "block leaves no redzone in its slot")                                                    \
    CASE(block_forgotten, build_block(s->slab, 0, BLOCK_FREE, 32, 0), "")                          \
    /* large blocks */                                                                             \
    CASE(large_state, set_state(&large(s)->block, 6), "large block in an unknown state or family") \
    CASE(large_family, set_family(&large(s)->block, 7),                                            \
         "large block in an unknown state or family")                                              \
    CASE(large_redzone, large(s)->request = 1u << RTC_UNIT_SHIFT,                                  \
         "large block leaves no redzone in its units")                                             \
    CASE(large_units, large(s)->units = 0, "large block leaves no redzone in its units")           \
    CASE(large_unit, large(s)->unit = 1ull << 31, "large block leaves no redzone in its units")    \
    CASE(large_last_unit, large(s)->unit = (1ull << 31) - 1, "")                                   \
    CASE(large_wraps, large(s)->unit = ~0ull, "large block leaves no redzone in its units")        \
    CASE(large_over, set_state(&large(s)->block, BLOCK_FREE); large(s)->units = 0, "")             \
    CASE(large_unpublished, fill(build_item(s->large, 2), sizeof(struct large_record)), "")        \
    /* depot */                                                                                    \
    CASE(depot_chunk, s->depot->index = 1u << 22, "depot chunk that no stack id can name")         \
    CASE(depot_long, build_segment(&s->b, s->second, SEGMENT_DEPOT, 16, 1021, 3),                  \
         "depot chunk that no stack id can name")                                                  \
    CASE(depot_full, build_segment(&s->b, s->second, SEGMENT_DEPOT, 16, 1020, 3), "")              \
    CASE(depot_self, node(s, 1)->parent = depot_id(2, 1), "depot node older than its parent")      \
    CASE(depot_cycle, node(s, 0)->parent = depot_id(2, 1), "depot node older than its parent")     \
    CASE(depot_later_chunk, node(s, 1)->parent = depot_id(3, 0),                                   \
         "depot node older than its parent")                                                       \
    CASE(depot_earlier_chunk, node(s, 0)->parent = depot_id(1, 500), "")                           \
    CASE(depot_place, node(s, 1)->parent = 2u << DEPOT_CHUNK_SHIFT,                                \
         "depot node with an impossible parent")                                                   \
    CASE(depot_place_high, node(s, 1)->parent = (1u << DEPOT_CHUNK_SHIFT) + DEPOT_CHUNK_NODES + 1, \
         "depot node with an impossible parent")                                                   \
    CASE(depot_place_last, node(s, 1)->parent = (1u << DEPOT_CHUNK_SHIFT) + DEPOT_CHUNK_NODES, "") \
    CASE(depot_unpublished, node(s, 2)->parent = ~0u, "")                                          \
    /* threads, modules */                                                                         \
    CASE(thread_name, fill(thread(s)->name, sizeof thread(s)->name), "thread name has no end")     \
    CASE(thread_number, thread(s)->number = 1u << 18, "thread number that no block can name")      \
    CASE(thread_number_last, thread(s)->number = (1u << 18) - 1, "")                               \
    CASE(thread_unpublished, fill(build_item(s->threads, 2), sizeof(struct thread_record)), "")    \
    CASE(module_empty, module(s)->end = module(s)->start, "module of no length")                   \
    CASE(module_build_id, module(s)->build_id_bytes = 21, "build-id too long")                     \
    CASE(module_build_id_full, module(s)->build_id_bytes = 20, "")                                 \
    CASE(module_unpublished, fill(build_item(s->modules, 2), sizeof(struct module_record)), "")    \
    CASE(module_path, fill(module(s)->path, sizeof module(s)->path), "module path has no end")     \
    /* errors */                                                                                   \
    CASE(error_state, error(s)->block_state = BLOCK_INHERITED + 1,                                 \
         "error about a block in an unknown state or family")                                      \
    CASE(error_family, error(s)->block_family = FAMILY_COUNT,                                      \
         "error about a block in an unknown state or family")                                      \
    CASE(error_family_last, error(s)->block_family = FAMILY_COUNT - 1, "")                         \
    CASE(error_bytes, error(s)->found_bytes = ERROR_BYTES_FOUND + 1,                               \
         "error with more bytes than it has room for")                                             \
    CASE(error_bytes_full, error(s)->found_bytes = ERROR_BYTES_FOUND, "")                          \
    CASE(error_path, fill(error(s)->region_path, sizeof error(s)->region_path),                    \
         "path of an error's region has no end")                                                   \
    CASE(error_later_kind, error(s)->kind = error(s)->entry = error(s)->region = ~0u, "")          \
    CASE(error_unwritten,                                                                          \
         (fill(error(s), sizeof(struct error_record)), error(s)->kind = ERROR_NONE), "")           \
    CASE(error_short_items, s->errors->item_bytes -= 8, "items of a strange size")                 \
    /* leaks */                                                                                    \
    CASE(leak_reach, leak(s)->reach = REACH_COUNT, "blocks that are reached in an unknown way")    \
    CASE(leak_reach_last, leak(s)->reach = REACH_COUNT - 1, "")                                    \
    CASE(leak_unwritten, (fill(leak(s), sizeof(struct leak_group)), leak(s)->reach = REACH_NONE),  \
         "")                                                                                       \
    CASE(leak_bytes, leak(s)->bytes = 1ull << 47, "leak group with impossible sums")               \
    CASE(leak_blocks, leak(s)->blocks = 1ull << 47, "leak group with impossible sums")             \
    CASE(leak_indirect_bytes, leak(s)->indirect_bytes = 1ull << 47,                                \
         "leak group with impossible sums")                                                        \
    CASE(leak_indirect, leak(s)->indirect_blocks = 1ull << 47, "leak group with impossible sums")  \
    CASE(leak_new, leak(s)->new_blocks = 2, "leak group with impossible sums")                     \
    CASE(leak_new_bytes, leak(s)->new_bytes = 17, "leak group with impossible sums")               \
    CASE(leak_inherited, build_leak(s->leaks, REACH_LOST, 0, 0, 0)->indirect_blocks = 3, "")       \
    CASE(leak_large, leak(s)->block_bytes = 1ull << 47, "leaked block larger than any")            \
    CASE(leak_from_large, leak(s)->from_bytes = 1ull << 47, "leaked block larger than any")        \
    CASE(leak_witness, witnessed(s, WITNESS_COUNT), "leak group with an impossible witness")       \
    CASE(leak_by_root, witnessed(s, WITNESS_ROOT), "")                                             \
    CASE(leak_no_root, witnessed(s, WITNESS_ROOT)->root = 0,                                       \
         "leak group with an impossible witness")                                                  \
    CASE(leak_before, witnessed(s, WITNESS_ROOT)->value--,                                         \
         "leak group with an impossible witness")                                                  \
    CASE(leak_end, witnessed(s, WITNESS_REGISTER)->value += 16, "")                                \
    CASE(leak_after_end, witnessed(s, WITNESS_REGISTER)->value += 17,                              \
         "leak group with an impossible witness")                                                  \
    CASE(leak_by_block, witnessed(s, WITNESS_BLOCK), "")                                           \
    CASE(leak_by_block_before, witnessed(s, WITNESS_BLOCK)->at--,                                  \
         "leak group with an impossible witness")                                                  \
    CASE(leak_by_block_value, witnessed(s, WITNESS_BLOCK)->value--,                                \
         "leak group with an impossible witness")                                                  \
    CASE(leak_by_itself, witnessed(s, WITNESS_SELF)->value = 0, "")                                \
    CASE(leak_short_items, s->leaks->item_bytes -= 8, "items of a strange size")                   \
    CASE(root_kind, root(s)->kind = ROOT_KIND_COUNT, "root of an unknown kind")                    \
    CASE(root_empty, root(s)->end = root(s)->start, "root of no length")                           \
    CASE(root_path, fill(root(s)->path, sizeof root(s)->path), "path of a root has no end")        \
    CASE(root_unwritten, (fill(root(s), sizeof(struct root_record)), root(s)->kind = ROOT_NONE),   \
         "")                                                                                       \
    CASE(root_short_items, s->roots->item_bytes -= 8, "items of a strange size")                   \
    CASE(midway_leaks, s->leaks->kind = SEGMENT_CHECK_LEAKS, "")                                   \
    CASE(midway_reach, (s->leaks->kind = SEGMENT_CHECK_LEAKS, leak(s)->reach = REACH_COUNT),       \
         "blocks that are reached in an unknown way")                                              \
    CASE(midway_roots, (s->roots->kind = SEGMENT_CHECK_ROOTS, root(s)->end = root(s)->start),      \
         "root of no length")                                                                      \
    CASE(check, check(s, 7), "")                                                                   \
    CASE(check_unwritten, check(s, 7)->number = 0, "")                                             \
    CASE(check_another, check(s, 7)->number = 8, "leak check with another's number")               \
    CASE(object, object(s)->native = UINT32_MAX, "")                                               \
    CASE(object_path, fill(object(s)->path, sizeof object(s)->path), "object's path has no end")   \
    CASE(object_build_id, object(s)->build_id_bytes = 21, "object's build-id is too long")         \
    CASE(crash, crash(s)->registers = CRASH_REGISTERS, "")                                         \
    CASE(crash_registers, crash(s)->registers = CRASH_REGISTERS + 1,                               \
         "crash with more registers than it has room for")                                         \
    CASE(crash_exception, fill(crash(s)->exception, sizeof crash(s)->exception),                   \
         "exception of a crash has no end")                                                        \
    CASE(text, strcpy(text_of_sample(s)->text, "a=b"), "")                                         \
    CASE(text_without_end, fill(text_of_sample(s), sizeof(struct text_record)), "text has no end")

#define CASE(name, spoil, want)                \
    static void spoil_##name(struct sample *s) \
    {                                          \
        spoil;                                 \
    }
CASES
#undef CASE

static const struct spoil_case {
    const char *name;
    void (*spoil)(struct sample *s);
    const char *want;
} cases[] = {
#define CASE(name, spoil, want) {#name, spoil_##name, want},
    CASES
#undef CASE
};

static void test_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct sample s;
        const char *text_of_sample;
        uint64_t offset = 0;
        sample_begin(&s);
        cases[i].spoil(&s);
        text_of_sample = complaint(&s, &offset);
        if (strcmp(text_of_sample ? text_of_sample : "", cases[i].want) != 0)
            fail_msg("%s: said \"%s\" instead of \"%s\"", cases[i].name,
                     text_of_sample ? text_of_sample : "", cases[i].want);
        build_end(&s.b);
    }
}

static void test_offset_is_in_the_file(void **state)
{
    struct sample s;
    uint64_t offset = 0;

    (void)state;
    sample_begin(&s);
    block(&s, 7)->word = 7;
    assert_non_null(complaint(&s, &offset));
    assert_int_equal(offset, (uint64_t)((char *)block(&s, 7) - s.b.file));
    build_end(&s.b);
}

static void test_offset_is_in_the_table(void **state)
{
    struct sample s;
    uint64_t offset = 0;

    (void)state;
    sample_begin(&s);
    build_lease(&s.b, 11)->state = 99;
    assert_non_null(complaint(&s, &offset));
    assert_int_equal(offset, (uint64_t)((char *)build_lease(&s.b, 11) - s.b.file));
    build_entry(&s.b, 5)->owner = ~0ull;
    assert_non_null(complaint(&s, &offset));
    assert_int_equal(offset, (uint64_t)((char *)build_entry(&s.b, 5) - s.b.file));
    build_end(&s.b);
}

static void test_short_reads(void **state)
{
    struct sample s;
    struct verify_error err;

    (void)state;
    sample_begin(&s);
    assert_false(verify_run(run(&s), RTC_AREA_TABLE_OFFSET - 1, &err));
    assert_string_equal(err.what, "shorter than a run header");
    assert_false(verify_run(run(&s), RTC_AREA_TABLE_OFFSET, &err));
    assert_string_equal(err.what, "file is cut, or longer than any");
    assert_false(verify_area(head(&s), 4095, run(&s), s.area, &err));
    assert_string_equal(err.what, "shorter than an area head");
    assert_false(verify_area(head(&s), 8000, run(&s), s.area, &err));
    assert_string_equal(err.what, "area with an impossible length");
    head(&s)->used_bytes = 4096; /* its image is being built */
    assert_true(verify_area(head(&s), 4096, run(&s), s.area, &err));
    head(&s)->used_bytes = 4096 + RTC_SEGMENT_ALIGN;
    assert_false(verify_area(head(&s), 4096 + RTC_SEGMENT_ALIGN, run(&s), s.area, &err));
    assert_string_equal(err.what, "area too short for an image header");
    assert_false(verify_area(head(&s), BUILD_AREA_BYTES, run(&s), 0, &err));
    assert_string_equal(err.what, "no such area");
    assert_false(verify_area(head(&s), BUILD_AREA_BYTES, run(&s), BUILD_AREAS, &err));
    assert_string_equal(err.what, "no such area");
    build_end(&s.b);
}

/* The end of the file may be the end of readable memory: nothing past it is read. */
static void test_nothing_after_the_end(void **state)
{
    struct sample s;
    struct verify_error err;
    uint64_t used, room;
    char *place;

    (void)state;
    sample_begin(&s);
    used = head(&s)->used_bytes;
    room = align_up(used, 4096);
    place = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(place != MAP_FAILED);
    assert_int_equal(mprotect(place + room, 4096, PROT_NONE), 0);
    memcpy(place + room - used, head(&s), used);
    assert_true(verify_area(place + room - used, used, run(&s), s.area, &err));
    munmap(place, room + 4096);
    build_end(&s.b);
}

/* A run of the maximum size: all data that is read is in the first 408 KiB. */
static void test_longest_run(void **state)
{
    struct run_shape shape = {
        .area_bytes = 64u << 20, .area_count = RTC_AREA_COUNT_MAX, .mode = RUN_BY_LAUNCHER};
    uint64_t head_bytes = 408u << 10;
    struct verify_error err;
    char *place =
        mmap(NULL, head_bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct run_header *longest = (struct run_header *)(void *)place;

    (void)state;
    assert_true(place != MAP_FAILED);
    assert_int_equal(mprotect(place + head_bytes, 4096, PROT_NONE), 0);
    assert_int_equal(run_header_init(longest, &shape), 0);
    assert_true(verify_run(longest, run_file_bytes(&shape), &err));
    longest->lease_table_offset += 8;
    assert_false(verify_run(longest, run_file_bytes(&shape), &err));
    assert_string_equal(err.what, "unchecked table outside its place");
    munmap(place, head_bytes + 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_offset_is_in_the_file),
        cmocka_unit_test(test_offset_is_in_the_table),
        cmocka_unit_test(test_short_reads),
        cmocka_unit_test(test_nothing_after_the_end),
        cmocka_unit_test(test_longest_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
