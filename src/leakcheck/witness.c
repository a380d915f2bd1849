/*
 * witness.c - describe the location of a witness: a stack frame, or a thread's static thread-local
 * storage.
 *
 * A thread may run on a stack of unknown owner (an alternate stack, a coroutine's) and still have
 * frames on its own stack. libc puts a thread's static thread-local storage directly below its
 * control block, to which the thread pointer points.  For most threads both lie above the outermost
 * frame.  For the main thread, the loader has chosen the address.
 */
#include "leakcheck_priv.h"

#define FRAMES_OF_A_STACK 512u

static bool is_in(const struct root_record *root, uint64_t address)
{
    return address >= root->start && address < root->end;
}

/* Return false if no frame of the thread contains the address. */
static bool describe_frame(const struct stopped_thread *t, const struct root_record *root,
                           struct leak_group *g)
{
    struct framed frame[FRAMES_OF_A_STACK];
    if (!(t->caller.known >> DWARF_PC & 1))
        return false;
    uint32_t n = unwind_frames(&t->caller, root->end, frame, FRAMES_OF_A_STACK);
    for (uint32_t i = 0; i + 1 < n; i++)
        if (g->at + RED_ZONE_BYTES >= frame[i].sp && g->at < frame[i + 1].sp) {
            g->frame_pc = frame[i].word;
            g->frame_cfa = frame[i + 1].sp;
            g->frame_sp = frame[i].sp;
            return true;
        }
    if (n > 0 && is_in(root, frame[n - 1].sp) && g->at >= frame[n - 1].sp)
        g->frame_cfa = frame[n - 1].sp;
    return false;
}

static void describe_control_block(const struct stopped_thread *t, const struct root_record *root,
                                   struct leak_group *g)
{
    uint64_t block = t->control_block;
    bool is_nearer = !g->control_block || block < g->control_block;
    if (!is_in(root, block) || g->at >= block + LIBC_CONTROL_BYTES || !is_nearer)
        return;
    g->control_block = block;
    g->on_thread = t->number;
}

void witness_describe(const struct stopped_world *w, const struct root_record *root,
                      struct leak_group *g)
{
    bool is_stack = root->kind == ROOT_STACK;
    if (!is_stack && root->kind != ROOT_MAPPED)
        return;
    for (uint32_t i = 0; i < w->count; i++) {
        const struct stopped_thread *t = &w->thread[i];
        bool is_its_own = is_stack && root->thread && t->number == root->thread;
        if ((is_its_own || is_in(root, t->caller.value[DWARF_SP])) && describe_frame(t, root, g)) {
            g->on_thread = t->number;
            return;
        }
    }
    for (uint32_t i = 0; i < w->count; i++)
        describe_control_block(&w->thread[i], root, g);
}
