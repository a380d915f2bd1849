/*
 * translated.h - interface of translated: the program runs in copies of its objects' code, whose loads
 * and stores are checked (--access=full).
 *
 *   plans.c       find and map the plan of each loaded object, and patch its entries
 *   translated.c  addresses in copies -> original code, and the copy around an address
 *   objects.c     the objects at start, and why some run their own code
 *
 * `rtcheck translate` makes plans outside of the process (format/plan.h); the launcher puts them into a
 * folder, by build-id.  Plans are mapped in our constructor, before the program's own code runs: then one
 * thread exists.  After it, all is constant.  No locks.  Functions but translated_start are
 * async-signal-safe.
 */
#ifndef TRANSLATED_H
#define TRANSLATED_H

#include <link.h>
#include "format/format.h"
#include "plan_view.h"
#include "os.h"

/* Map the plans in `folder`; NULL: there is no shadow, so map none.  `handler` is called by bad accesses, as plan_header.handler. */
void translated_start(const char *folder, void (*handler)(void));

/* Objects that run in copies, and others that could. */
struct translated_counts {
    uint32_t objects, native;
};
struct translated_counts translated_counts(void);

/* An object that was loaded at start. */
struct translated_object {
    const char *path; /* the loader's; "": the program */
    uintptr_t start;
    uint64_t text_bytes; /* of its executable segments */
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    uint32_t native;                          /* enum native_reason */
    const struct plan_statistics *statistics; /* NULL: no plan was used */
};
/* All of them. */
const struct translated_object *translated_objects(uint32_t *count);

/*
 * The address of the original instruction if `pc` is in a copy, else `pc`.  A return address leads to
 * the instruction after the original call.
 */
uintptr_t translated_original(uintptr_t pc);
/* The return address of the original call, also if code of a check follows the call in the copy. */
uintptr_t translated_return(uintptr_t pc);

/*
 * A copy, as unwinders see it: an object with these program headers, whose addresses are relative to
 * `start`.
 */
#define TRANSLATED_HEADERS 3u
struct translated_copy {
    uintptr_t start, end; /* with the frame descriptions */
    uintptr_t unwind;     /* an .eh_frame_hdr */
    uintptr_t text;       /* of the original */
    const ElfW(Phdr) * headers;
};
/* The copy that contains an address; false: none. */
bool translated_copy_at(uintptr_t pc, struct translated_copy *out);
/* The copy with a number from 0 on; false: there are less. */
bool translated_copy_number(uint32_t number, struct translated_copy *out);

/* The end of the copied function that contains `pc`; 0: there is none. */
uintptr_t translated_end(uintptr_t pc);
/* The copy of the instruction at `pc`, or `pc`: it has none, or no instruction begins there. */
uintptr_t translated_copy_of(uintptr_t pc);

struct translated_site {
    uintptr_t pc; /* original instruction */
    uint32_t bytes;
    uint32_t kind; /* enum plan_kind */
};
/* The check that has called the handler, by the return address on the stack.  false: none. */
bool translated_site(uintptr_t returns_to, struct translated_site *out);
/* What that call and the check before it have added to the stack. */
#define TRANSLATED_STACK_BYTES (128u + sizeof(uintptr_t))
/* The address of the bad access: in a word of the calling thread. */
uintptr_t translated_bad_address(void);
/* The words of the calling thread in which checks save registers. */
struct translated_words {
    uint64_t at[SPILL_COUNT];
};
struct translated_words translated_words(void);
void translated_words_restore(const struct translated_words *kept);
/* Is `pc` in the copy of an instruction, or in its check? */
bool translated_has(uintptr_t pc);

#endif
