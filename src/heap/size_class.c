/*
 * size_class.c - size classes: the slot size for each request.
 *
 * Steps of 16 bytes up to 256, then four per doubling: at most 20 % of a slot is slack.  Every
 * block has at least one redzone byte after it (more with --redzone-size), so a request of n needs
 * a slot of n + 1.  The first slot of a slab is never allocated: it is the redzone before the
 * second.  Slabs of slots up to 2 KiB are one unit; larger ones have at least 16 slots.
 *
 * The division by the slot size is a multiplication.  Offsets and slot sizes are multiples of 16,
 * so both are divided by 16 first, and (2^15 offsets) * (2^11 sizes) < 2^32 keeps it exact.
 */
#include "heap.h"

#define SLOTS_IN(bytes, units) ((units)*UNIT_BYTES / (bytes))
#define CLASS(bytes, units)                                                                  \
    {                                                                                        \
        ((1ull << 32) + (bytes) / 16 - 1) / ((bytes) / 16), (bytes), SLOTS_IN(bytes, units), \
            (units)                                                                          \
    }
#define FOUR(a, b, c, d, units) CLASS(a, units), CLASS(b, units), CLASS(c, units), CLASS(d, units)

const struct size_class size_class[ALL_CLASSES] = {
    FOUR(16, 32, 48, 64, 1),
    FOUR(80, 96, 112, 128, 1),
    FOUR(144, 160, 176, 192, 1),
    FOUR(208, 224, 240, 256, 1),
    FOUR(320, 384, 448, 512, 1),
    FOUR(640, 768, 896, 1024, 1),
    FOUR(1280, 1536, 1792, 2048, 1),
    FOUR(2560, 3072, 3584, 4096, 4),
    FOUR(5120, 6144, 7168, 8192, 4),
    FOUR(10240, 12288, 14336, 16384, 8),
    FOUR(20480, 24576, 28672, 32768, 8),
    CLASS(256, 1),
    CLASS(2048, 1),
    CLASS(16384, 4),
    CLASS(131072, 8),
};

uint32_t class_of_aligned(size_t request, size_t align)
{
    uint32_t class = class_of(request);
    while (class < SIZE_CLASSES && size_class[class].slot_bytes % align != 0)
        class ++;
    return class;
}
