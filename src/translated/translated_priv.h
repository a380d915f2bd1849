/* translated_priv.h - what the files of translated share. */
#ifndef TRANSLATED_PRIV_H
#define TRANSLATED_PRIV_H

#include <link.h>

#include "processor.h"
#include "translated.h"

#define OBJECTS_MOST 64u

struct copied_object {
    uintptr_t bias, text, copy;
    const ElfW(Phdr) * segments; /* of the original; they persist */
    unsigned segment_count;
    uint64_t copy_bytes;
    struct plan_view plan;
    ElfW(Phdr) headers[TRANSLATED_HEADERS];
    struct translated_object *listed;
};

struct copied_objects {
    uint32_t count, native;
    struct copied_object *of; /* OBJECTS_MOST; NULL: none */
};
extern HIDDEN struct copied_objects copied;

/* Add an object to the list; its other fields are the caller's. */
struct translated_object *object_list(const struct dl_phdr_info *info);

#endif
