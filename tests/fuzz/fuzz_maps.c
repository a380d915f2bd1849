/*
 * fuzz_maps.c - the address map: after any changes, with any capacity, it reports for each page the
 * same as a model of pages, and a change that exceeds the capacity changes nothing.
 *
 * rtc-build: ranges
 *
 * An input is the room (one byte), then eight bytes for each change.
 */
#include "fuzz.h"
#include "../unit/ranges/maps_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    static struct model model;

    must(model_init(&model, (uint32_t)input_number(&in, 1)), "there is memory");
    while (in.left > 0) {
        model_change(&model, input_number(&in, 8));
        must(model_agrees(&model), "map and model agree");
    }
    free(model.storage);
    return 0;
}
