/*
 * post_mortem.c - a process that continues with the memory of a process that is gone.
 *
 * Its threads ended at arbitrary points: their locks are reset, and incomplete writes stay as they
 * are.  New data is written to a new area, so that no incomplete data precedes it.
 */
#include "fork_priv.h"

bool pool_post_mortem(void)
{
    bool at_rest = threads_post_mortem();
    segments_after_fork(); /* a vacant segment may be half taken */
    modules_post_mortem();
    fork_post_mortem();
    return at_rest && area_renew();
}
