/*
 * libc.h - the insides of its C library that the runtime depends on: glibc.
 *
 * All else uses libc's documented interface.  A port to another libc writes a folder beside this
 * one (CMakeLists.txt names it), and for each architecture a header as src/arch/X/glibc_abi.h.
 * It provides:
 *
 *   signals       those that libc reserves: one stops threads for a leak check (no program can have a
 *                 handler of it, no function of libc blocks it), one must wait until an event is
 *                 complete
 *   threads       the address of the control block.  It lies in the mapping of the thread's stack, so
 *                 it identifies a stack in a list of mappings; above it the stack has ended.  The
 *                 kernel's robust list of the thread points into it.
 *   keys          the slots of pthread keys, of which stale ones are no roots; optional
 *   objects       a lookup without locks and memory; optional: else objects loaded later are unknown
 *   chunks        blocks of libc's own allocator; optional: else they are foreign, and a free of
 *                 one is an error
 *   jump buffers  the stack pointer to which longjmp will return
 *   own memory    frees what libc and libstdc++ keep until the end; optional
 *   sizes         of some functions, which have no symbol sizes that may be relied on
 *
 * Here, but not a matter of a port: names that libc exports besides the standard's are in
 * src/intercept and src/events (__libc_malloc, __mmap, mallinfo); a libc without them never calls
 * them.  The order of the end is the C standard's and on_exit's: our handlers, registered first, run
 * last, before streams are flushed.  dlopen's caller is in src/arch (library_jump.h).
 *
 * All functions are signal-safe and allocate nothing.
 */
#ifndef LIBC_H
#define LIBC_H

#include "base.h"
#include "glibc_abi.h"

/* ---- signals --------------------------------------------------------------------------------- */

#define LIBC_SIGNAL_CANCEL \
    32 /* for cancellation; masked, because it would leave an event incomplete */
#define LIBC_SIGNAL_SETXID 33 /* libc never blocks it */

/* ---- threads --------------------------------------------------------------------------------- */

/* libc's data of a thread, from its control block upwards: always live. */
#define LIBC_CONTROL_BYTES 4096u
/*
 * Of the stack of a thread that has ended libc keeps PTHREAD_STACK_MIN bytes below the last frame,
 * the frames of the thread's start, and the static thread-local storage below the control block.
 * The rest is discarded (MADV_DONTNEED).
 */
#define LIBC_DEAD_STACK_BYTES (64u << 10)

ALWAYS_INLINE uintptr_t libc_control_block(void)
{
    return glibc_control_block();
}

/*
 * A thread without libc's knowledge needs storage for the initial thread-local variables: the
 * bytes on both sides of its thread pointer that `variable` extends over, and zeroed words there
 * that are prepared.
 */
static inline void libc_storage(uintptr_t variable, uint64_t *below, uint64_t *above)
{
    glibc_storage(variable, below, above);
}

static inline void libc_storage_prepare(uintptr_t thread_pointer)
{
    glibc_storage_prepare(thread_pointer);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Look up a symbol of libc; 0: it has none of that name. */
typedef uintptr_t libc_symbol_fn(const void *about, const char *name);

/* Find the keys; false: not known in this version.  Call it once. */
bool libc_keys_start(libc_symbol_fn *symbol, const void *about);

struct libc_slots {
    /* Does a block of the program's heap with room for `bytes` start at p? */
    bool (*is_block)(const void *p, size_t bytes);
    /* A word that was set for a key since deleted: the program cannot read it. */
    void (*stale)(void **word, void *about);
    void *about;
};

/* Call `stale` for words of the thread with this control block, which must not run. */
void libc_each_slot(uintptr_t control_block, const struct libc_slots *to);

/* ---- objects --------------------------------------------------------------------------------- */

#define LIBC_FINDER "_dl_find_object"

/* The same by dlvsym, which may allocate; NULL: this version has none. */
void *libc_finder(void);
/* The object that contains an address, as the function named LIBC_FINDER returns it. */
bool libc_find_object(void *finder, uintptr_t pc, struct object *out);

/*
 * The name of libc's function that finds the frame descriptions of an address.  intercept/unwinders.c exports a
 * function of this name, which answers for copies of code.  libc_finder_call calls libc's; -1: libc has none.
 */
#define LIBC_FINDER_FUNCTION _dl_find_object
typedef struct dl_find_object libc_found;
int libc_finder_call(void *finder, uintptr_t pc, libc_found *out);
/* Replace the range and the .eh_frame_hdr of a result. */
void libc_found_replace(libc_found *out, uintptr_t start, uintptr_t end, uintptr_t index);

/*
 * The description of an ELF note with this type and name (of 3 letters at most) in a loaded object;
 * NULL: none.
 */
const void *libc_object_note(const struct object *o, uint32_t type, const char *name,
                             size_t *bytes);

/* ---- chunks ---------------------------------------------------------------------------------- */

/*
 * Is `at` a block of libc's own allocator, judged by its header?  [start, end): the readable mapping
 * around it; is_break: that of brk.
 */
bool libc_is_chunk(uintptr_t at, uintptr_t start, uintptr_t end, bool is_break);

/* ---- jump buffers ---------------------------------------------------------------------------- */

/* The stack pointer that longjmp restores; `buffer`: a jmp_buf. */
static inline uintptr_t libc_jump_target(const void *buffer)
{
    return glibc_demangle(((const uintptr_t *)buffer)[GLIBC_JMPBUF_SP]);
}

/* Does it restore the signal mask? */
static inline bool libc_jump_restores_mask(const void *buffer)
{
    return ((const int *)buffer)[GLIBC_JMPBUF_MASK_SAVED];
}

/* ---- sizes ----------------------------------------------------------------------------------- */

#define LIBC_EXIT_BYTES 64u    /* of exit and quick_exit, which only call another function */
#define LIBC_WRAPPER_BYTES 64u /* largest frame of a wrapper of a system call */

/* ---- own memory ------------------------------------------------------------------------------ */

/*
 * Free what libc and libstdc++ (`cxx`) keep for themselves.  The exception to the rule above: they
 * take locks, flush streams, and free memory.  Nothing may use libc after this but exit's last
 * flush of streams.
 */
void libc_freeres(bool libc, bool cxx);

#endif
