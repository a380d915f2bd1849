/*
 * heap_of_image.h - the heap of an image with one registered thread, for tests of blocks.  Use it in a
 * child of the test: a process has one heap.
 */
#ifndef HEAP_OF_IMAGE_H
#define HEAP_OF_IMAGE_H

#include "heap.h"
#include "../in_child.h"

static inline void heap_of_image(void)
{
    MUST(heap_start(false) == 0);
    image_start(&(struct image_request){.how = IMAGE_ROOT, .first_thread = 1});
    fork_start(NULL, FORK_HEAP_PRIVATE);
    slab_start();
    MUST(threads_register() == self && self);
}

#endif
