/*
 * post_mortem.c - a process that goes on alone with the memory of one that is gone.
 *
 * Its threads ended wherever they were: their locks are nobody's, what they were writing stays as it is,
 * and who was to wait for them need not.  What is written from here on goes into an area of its own, so
 * that nothing half done stands before it.
 */
#include "pool_priv.h"

bool pool_post_mortem(void)
{
    bool at_rest = threads_post_mortem();
    segments_after_fork(); /* what was vacated may be half taken */
    modules_post_mortem();
    fork_post_mortem();
    return at_rest && area_renew();
}
