/*
 * table.cc - every function of malloc's family × every mistake × every place, each a separate crime
 * or a reason why there is none.
 *
 * A place is the kind of the block, or the moment.  A crime is one of the functions baf() to oom()
 * below, made for one entry and place; tags with an @ mark the lines that stacks go through.
 *
 * rtc-build: +cells.cc -O2 -g -pthread -fno-builtin -fsized-deallocation
 */
#include "cells.h"

#include <cstdlib>
#include <malloc.h>
#include <new>
#include <sys/mman.h>
#include <utility>

extern "C" { /* a libc may lack them: without a runtime that defines them they are not called */
__attribute__((weak)) void cfree(void *);
__attribute__((weak)) void free_sized(void *, std::size_t);
__attribute__((weak)) void free_aligned_sized(void *, std::size_t, std::size_t);
}

namespace
{

/* ---- the table's three sides -------------------------------------------------------------------- */

enum maker { MALLOC, MEMALIGN, NEW, ARRAY, NEW_ALIGNED, ARRAY_ALIGNED };

enum error {
    BAF,
    DUF,
    MAF,
    MIS,
    SIZE,
    PAST_END,
    BEFORE,
    INSIDE,
    OOM,
    ZERO,
    ALIGN_GIVEN,
    POWER,
    ERROR_COUNT
};
const char *const error_names[] = {"baf",    "duf",    "maf", "mis",  "size",  "behind",
                                   "before", "inside", "oom", "zero", "align", "power"};

enum place {
    SMALL,
    PAGE,
    LARGE,
    ALIGNED,
    ARRAYS,
    FREED,
    THREAD,
    HANDLER,
    ATEXIT,
    DESTRUCTOR,
    PLACE_COUNT
};
const char *const place_names[] = {"small", "page",   "large",   "aligned", "new[]",
                                   "freed", "thread", "handler", "atexit",  "destructor"};

#define ENTRIES(X)                                                                                \
    X(FREE, "free", "free", MALLOC, FREES)                                                        \
    X(CFREE, "cfree", "cfree", MALLOC, FREES)                                                     \
    X(FREE_SIZED, "free_sized", "free_sized", MALLOC, FREES | SIZED)                              \
    X(FREE_ALIGNED_SIZED, "free_aligned_sized", "free_aligned_sized", MEMALIGN,                   \
      FREES | SIZED | GIVES_ALIGN)                                                                \
    X(REALLOC, "realloc", "realloc", MALLOC, FREES | ALLOCATES)                                   \
    X(REALLOCARRAY, "reallocarray", "reallocarray", MALLOC, FREES | ALLOCATES)                    \
    X(DELETE, "delete", "operator delete", NEW, FREES)                                            \
    X(DELETE_ARRAY, "delete[]", "operator delete[]", ARRAY, FREES)                                \
    X(DELETE_SIZED, "delete sized", "operator delete", NEW, FREES | SIZED)                        \
    X(DELETE_ARRAY_SIZED, "delete[] sized", "operator delete[]", ARRAY, FREES | SIZED)            \
    X(DELETE_NOTHROW, "delete nothrow", "operator delete", NEW, FREES)                            \
    X(DELETE_ARRAY_NOTHROW, "delete[] nothrow", "operator delete[]", ARRAY, FREES)                \
    X(DELETE_ALIGNED, "delete aligned", "operator delete (aligned)", NEW_ALIGNED,                 \
      FREES | GIVES_ALIGN)                                                                        \
    X(DELETE_ARRAY_ALIGNED, "delete[] aligned", "operator delete[] (aligned)", ARRAY_ALIGNED,     \
      FREES | GIVES_ALIGN)                                                                        \
    X(DELETE_ALIGNED_SIZED, "delete sized aligned", "operator delete (aligned)", NEW_ALIGNED,     \
      FREES | SIZED | GIVES_ALIGN)                                                                \
    X(DELETE_ARRAY_ALIGNED_SIZED, "delete[] sized aligned", "operator delete[] (aligned)",        \
      ARRAY_ALIGNED, FREES | SIZED | GIVES_ALIGN)                                                 \
    X(DELETE_ALIGNED_NOTHROW, "delete aligned nothrow", "operator delete (aligned)", NEW_ALIGNED, \
      FREES | GIVES_ALIGN)                                                                        \
    X(DELETE_ARRAY_ALIGNED_NOTHROW, "delete[] aligned nothrow", "operator delete[] (aligned)",    \
      ARRAY_ALIGNED, FREES | GIVES_ALIGN)                                                         \
    X(BY_MALLOC, "malloc", "malloc", MALLOC, ALLOCATES)                                           \
    X(BY_CALLOC, "calloc", "calloc", MALLOC, ALLOCATES)                                           \
    X(BY_MEMALIGN, "memalign", "memalign", MEMALIGN, ALLOCATES | ALIGNS)                          \
    X(BY_ALIGNED_ALLOC, "aligned_alloc", "aligned_alloc", MEMALIGN, ALLOCATES | ALIGNS)           \
    X(BY_POSIX_MEMALIGN, "posix_memalign", "posix_memalign", MEMALIGN, ALLOCATES | ALIGNS)        \
    X(BY_VALLOC, "valloc", "valloc", MEMALIGN, ALLOCATES | ALIGNS)                                \
    X(BY_PVALLOC, "pvalloc", "pvalloc", MEMALIGN, ALLOCATES | ALIGNS)                             \
    X(BY_NEW, "new", "operator new", NEW, ALLOCATES)                                              \
    X(BY_ARRAY, "new[]", "operator new[]", ARRAY, ALLOCATES)                                      \
    X(BY_NEW_NOTHROW, "new nothrow", "operator new", NEW, ALLOCATES)                              \
    X(BY_ARRAY_NOTHROW, "new[] nothrow", "operator new[]", ARRAY, ALLOCATES)                      \
    X(BY_NEW_ALIGNED, "new aligned", "operator new (aligned)", NEW_ALIGNED, ALLOCATES | ALIGNS)   \
    X(BY_ARRAY_ALIGNED, "new[] aligned", "operator new[] (aligned)", ARRAY_ALIGNED,               \
      ALLOCATES | ALIGNS)                                                                         \
    X(BY_NEW_ALIGNED_NOTHROW, "new aligned nothrow", "operator new (aligned)", NEW_ALIGNED,       \
      ALLOCATES | ALIGNS)                                                                         \
    X(BY_ARRAY_ALIGNED_NOTHROW, "new[] aligned nothrow", "operator new[] (aligned)",              \
      ARRAY_ALIGNED, ALLOCATES | ALIGNS)                                                          \
    X(USABLE, "malloc_usable_size", "malloc_usable_size", MALLOC, QUERIES)

enum { FREES = 1, ALLOCATES = 2, SIZED = 4, ALIGNS = 8, QUERIES = 16, GIVES_ALIGN = 32 };

#define X(id, name, recorded, maker, flags) id,
enum entry { ENTRIES(X) ENTRY_COUNT };
#undef X

struct entry_fact {
    const char *name, *recorded;
    maker own; /* the maker of blocks that it frees, or that it allocates as */
    int flags;
};

#define X(id, name, recorded, maker, flags) {name, recorded, maker, flags},
constexpr entry_fact facts[] = {ENTRIES(X)};
#undef X

constexpr const char *families[] = {"malloc", "aligned",     "new",
                                    "new[]",  "new aligned", "new[] aligned"};

/* ---- matching families ---------------------------------------------------------------------------- */

constexpr bool is_c(maker m)
{
    return m == MALLOC || m == MEMALIGN;
}

constexpr bool is_array(maker m)
{
    return m == ARRAY || m == ARRAY_ALIGNED;
}

constexpr bool is_aligned(maker m)
{
    return m == MEMALIGN || m == NEW_ALIGNED || m == ARRAY_ALIGNED;
}

/* The maker of the blocks of a place; see is_own for crimes that need one of the entry's family. */
constexpr maker maker_of(entry e, place p)
{
    maker own = facts[e].own;
    if (p == ALIGNED && !is_aligned(own))
        return is_c(own) ? MEMALIGN : is_array(own) ? ARRAY_ALIGNED : NEW_ALIGNED;
    if (p == ARRAYS && !is_array(own))
        return ARRAY;
    return own;
}

constexpr bool is_own(entry e, place p)
{
    return maker_of(e, p) == facts[e].own || (is_c(maker_of(e, p)) && is_c(facts[e].own));
}

/* A maker at this place whose blocks the entry may not free. */
constexpr maker stranger_of(entry e, place p)
{
    maker own = facts[e].own;
    if (p == ARRAYS)
        return ARRAY;
    if (p == ALIGNED)
        return is_c(own) ? NEW_ALIGNED : MEMALIGN;
    return is_c(own) ? NEW : MALLOC;
}

constexpr std::size_t bytes_of(place p)
{
    return p == PAGE ? 4096 : p == LARGE ? 131072 : p == ALIGNED ? 48 : p == ARRAYS ? 40 : 24;
}

constexpr when when_of(error k, place p)
{
    if (k == OOM && (p == SMALL || p == PAGE || p == ALIGNED || p == ARRAYS))
        return FULL;
    return p == THREAD       ? IN_THREAD
           : p == HANDLER    ? IN_HANDLER
           : p == ATEXIT     ? AT_EXIT
           : p == DESTRUCTOR ? IN_DESTRUCTOR
                             : AT_ONCE;
}

constexpr const char *why_no_request(entry e, place p)
{
    if (!(facts[e].flags & ALLOCATES))
        return "it allocates nothing";
    if (p == FREED)
        return "a request has no block yet that could be freed";
    if (p == ALIGNED && !(facts[e].flags & ALIGNS))
        return "it takes no alignment";
    if (p == ARRAYS && !is_array(facts[e].own))
        return "it makes no array";
    return nullptr;
}

constexpr const char *why_no_alignment(entry e, place p)
{
    if (!(facts[e].flags & ALIGNS) || e == BY_VALLOC || e == BY_PVALLOC)
        return "it takes no alignment";
    if (e == BY_NEW_ALIGNED_NOTHROW || e == BY_ARRAY_ALIGNED_NOTHROW)
        return "the throwing form, which it calls, reports it";
    return why_no_request(e, p);
}

constexpr const char *why_not(entry e, error k, place p)
{
    if (k == OOM)
        return why_no_request(e, p);
    if (k == POWER)
        return why_no_alignment(e, p);
    if (!(facts[e].flags & (FREES | QUERIES)) || ((facts[e].flags & QUERIES) && k > MAF))
        return "it frees nothing";
    if (k == ZERO && e != REALLOC && e != REALLOCARRAY)
        return "it resizes nothing";
    if (k == ALIGN_GIVEN && !(facts[e].flags & GIVES_ALIGN))
        return "it is told no alignment";
    if ((k == ZERO || k == ALIGN_GIVEN) && p == FREED)
        return "what is freed again is a double free, whatever frees it";
    if (k == SIZE && !(facts[e].flags & SIZED))
        return "it is told no size";
    if ((k == MIS || k == SIZE) && p == FREED)
        return "what is freed again is a double free, whatever frees it";
    if (k == MIS && p == ARRAYS && facts[e].own == ARRAY)
        return "it frees arrays";
    if (k >= SIZE && !is_own(e, p))
        return "it does not free such blocks: a mismatch would be told, too";
    if (k == BEFORE && p == LARGE)
        return "what lies before a large block is another one's last unit: nobody's redzone";
    if (k == INSIDE && p == FREED)
        return "inside means inside a freed block: see the other places";
    return nullptr;
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

constexpr auto ALIGN = std::align_val_t{64};

template <maker M> INLINE void *make(std::size_t bytes)
{
    void *p;
    /* clang-format off */
    if constexpr (M == MALLOC) p = std::malloc(bytes);
    if constexpr (M == MEMALIGN) p = memalign(64, bytes);
    if constexpr (M == NEW) p = ::operator new(bytes);
    if constexpr (M == ARRAY) p = ::operator new[](bytes);
    if constexpr (M == NEW_ALIGNED) p = ::operator new(bytes, ALIGN);
    if constexpr (M == ARRAY_ALIGNED) p = ::operator new[](bytes, ALIGN);
    /* clang-format on */
    return escape(p);
}

template <maker M> INLINE void unmake(void *block)
{
    void *p = escape(block);
    /* clang-format off */
    if constexpr (M == MALLOC || M == MEMALIGN) std::free(p);
    if constexpr (M == NEW) ::operator delete(p);
    if constexpr (M == ARRAY) ::operator delete[](p);
    if constexpr (M == NEW_ALIGNED) ::operator delete(p, ALIGN);
    if constexpr (M == ARRAY_ALIGNED) ::operator delete[](p, ALIGN);
    /* clang-format on */
    barrier();
}

/* realloc frees when it has to move: from none of our sizes is it far enough to this one. */
enum { ELSEWHERE = 300 };

template <entry E> INLINE void end(void *block, std::size_t bytes)
{
    void *p = escape(block);
    void *moved = nullptr;
    /* clang-format off */
    if constexpr (E == FREE) std::free(p);
    if constexpr (E == CFREE) cfree(p);
    if constexpr (E == FREE_SIZED) free_sized(p, bytes);
    if constexpr (E == FREE_ALIGNED_SIZED) free_aligned_sized(p, 64, bytes);
    if constexpr (E == REALLOC) moved = std::realloc(p, ELSEWHERE);
    if constexpr (E == REALLOCARRAY) moved = reallocarray(p, ELSEWHERE / 3, 3);
    if constexpr (E == DELETE) ::operator delete(p);
    if constexpr (E == DELETE_ARRAY) ::operator delete[](p);
    if constexpr (E == DELETE_SIZED) ::operator delete(p, bytes);
    if constexpr (E == DELETE_ARRAY_SIZED) ::operator delete[](p, bytes);
    if constexpr (E == DELETE_NOTHROW) ::operator delete(p, std::nothrow);
    if constexpr (E == DELETE_ARRAY_NOTHROW) ::operator delete[](p, std::nothrow);
    if constexpr (E == DELETE_ALIGNED) ::operator delete(p, ALIGN);
    if constexpr (E == DELETE_ARRAY_ALIGNED) ::operator delete[](p, ALIGN);
    if constexpr (E == DELETE_ALIGNED_SIZED) ::operator delete(p, bytes, ALIGN);
    if constexpr (E == DELETE_ARRAY_ALIGNED_SIZED) ::operator delete[](p, bytes, ALIGN);
    if constexpr (E == DELETE_ALIGNED_NOTHROW) ::operator delete(p, ALIGN, std::nothrow);
    if constexpr (E == DELETE_ARRAY_ALIGNED_NOTHROW) ::operator delete[](p, ALIGN, std::nothrow);
    if constexpr (E == USABLE) sink = static_cast<char>(malloc_usable_size(p));
    /* clang-format on */
    barrier();
    (void)bytes;
    if constexpr ((facts[E].flags & ALLOCATES) != 0)
        std::free(escape(moved));
}

template <entry E> INLINE void request(void *old, std::size_t bytes)
{
    void *p = nullptr;
    /* clang-format off */
    if constexpr (E == REALLOC) p = std::realloc(old, bytes);
    if constexpr (E == REALLOCARRAY) p = reallocarray(old, bytes, 1);
    if constexpr (E == BY_MALLOC) p = std::malloc(bytes);
    if constexpr (E == BY_CALLOC) p = std::calloc(bytes, 1);
    if constexpr (E == BY_MEMALIGN) p = memalign(64, bytes);
    if constexpr (E == BY_ALIGNED_ALLOC) p = aligned_alloc(64, bytes);
    if constexpr (E == BY_POSIX_MEMALIGN) sink = static_cast<char>(posix_memalign(&p, 64, bytes));
    if constexpr (E == BY_VALLOC) p = valloc(bytes);
    if constexpr (E == BY_PVALLOC) p = pvalloc(bytes);
    if constexpr (E == BY_NEW) p = ::operator new(bytes);
    if constexpr (E == BY_ARRAY) p = ::operator new[](bytes);
    if constexpr (E == BY_NEW_NOTHROW) p = ::operator new(bytes, std::nothrow);
    if constexpr (E == BY_ARRAY_NOTHROW) p = ::operator new[](bytes, std::nothrow);
    if constexpr (E == BY_NEW_ALIGNED) p = ::operator new(bytes, ALIGN);
    if constexpr (E == BY_ARRAY_ALIGNED) p = ::operator new[](bytes, ALIGN);
    if constexpr (E == BY_NEW_ALIGNED_NOTHROW) p = ::operator new(bytes, ALIGN, std::nothrow);
    if constexpr (E == BY_ARRAY_ALIGNED_NOTHROW) p = ::operator new[](bytes, ALIGN, std::nothrow);
    /* clang-format on */
    unmake<facts[E].own>(escape(p));
}

/* The same with another size, or alignment. */
template <entry E> INLINE void resize(void *block, std::size_t bytes)
{
    void *p = escape(block);
    void *moved = nullptr;
    /* clang-format off */
    if constexpr (E == REALLOC) moved = std::realloc(p, escape(bytes));
    if constexpr (E == REALLOCARRAY) moved = reallocarray(p, escape(bytes), 1);
    /* clang-format on */
    barrier();
    std::free(escape(moved));
}

template <entry E> INLINE void endas(void *block, std::size_t bytes, std::size_t number)
{
    void *p = escape(block);
    auto align = static_cast<std::align_val_t>(escape(number));
    /* clang-format off */
    if constexpr (E == FREE_ALIGNED_SIZED) free_aligned_sized(p, escape(number), bytes);
    if constexpr (E == DELETE_ALIGNED) ::operator delete(p, align);
    if constexpr (E == DELETE_ARRAY_ALIGNED) ::operator delete[](p, align);
    if constexpr (E == DELETE_ALIGNED_SIZED) ::operator delete(p, bytes, align);
    if constexpr (E == DELETE_ARRAY_ALIGNED_SIZED) ::operator delete[](p, bytes, align);
    if constexpr (E == DELETE_ALIGNED_NOTHROW) ::operator delete(p, align, std::nothrow);
    if constexpr (E == DELETE_ARRAY_ALIGNED_NOTHROW) ::operator delete[](p, align, std::nothrow);
    /* clang-format on */
    barrier();
    (void)bytes;
    (void)align;
}

template <entry E> INLINE void askas(std::size_t bytes, std::size_t number)
{
    void *p = nullptr;
    auto align = static_cast<std::align_val_t>(escape(number));
    /* clang-format off */
    if constexpr (E == BY_MEMALIGN) p = memalign(escape(number), bytes);
    if constexpr (E == BY_ALIGNED_ALLOC) p = aligned_alloc(escape(number), bytes);
    if constexpr (E == BY_POSIX_MEMALIGN) sink = static_cast<char>(posix_memalign(&p, escape(number), bytes));
    if constexpr (E == BY_NEW_ALIGNED) p = ::operator new(bytes, align);
    if constexpr (E == BY_ARRAY_ALIGNED) p = ::operator new[](bytes, align);
    /* clang-format on */
    (void)align;
    unmake<facts[E].own>(escape(p));
}

/* ---- the crimes --------------------------------------------------------------------------------------- */

alignas(64) char statics[256]; /* @some.statics */

INLINE void *map(std::size_t bytes)
{
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* An address that is not allocated and not near a block of the place. */
template <place P> INLINE void *no_block(void *local)
{
    char *page = static_cast<char *>(map(bytes_of(LARGE)));
    if (P == SMALL)
        return statics + 32;
    if (P == ALIGNED)
        return statics + 64;
    if (P == ARRAYS)
        return statics + 128 + sizeof(std::size_t);
    if (P == FREED)
        munmap(page, bytes_of(LARGE));
    return P == FREED || P == PAGE ? page : P == LARGE ? page + 65536 : local;
}

template <entry E, place P> INLINE void baf()
{
    alignas(64) volatile char local[64] = {1};
    void *p = escape(no_block<P>(const_cast<char *>(local)));
    if (guilty)
        end<E>(p, bytes_of(P)); /* @baf.call */
    sink = local[0];
}

template <entry E, place P> INLINE void duf()
{
    void *p = make<maker_of(E, P)>(bytes_of(P)); /* @duf.alloc */
    unmake<maker_of(E, P)>(p);                   /* @duf.free */
    if (guilty)
        end<E>(p, bytes_of(P)); /* @duf.call */
}

/* In the place FREED the first free was realloc's. */
template <entry E> INLINE void duf_moved()
{
    void *p = make<MALLOC>(bytes_of(FREED));          /* @moved.alloc */
    void *moved = escape(std::realloc(p, ELSEWHERE)); /* @moved.free */
    if (guilty)
        end<E>(p, bytes_of(FREED)); /* @moved.call */
    std::free(moved);
}

template <entry E, place P> INLINE void maf()
{
    char *p = static_cast<char *>(make<maker_of(E, P)>(bytes_of(P))); /* @maf.alloc */
    if (P == FREED)
        unmake<maker_of(E, P)>(p); /* @maf.free */
    if (guilty)
        end<E>(p + 16, bytes_of(P)); /* @maf.call */
    if (P != FREED)
        unmake<maker_of(E, P)>(p);
}

template <entry E, place P> INLINE void mis()
{
    void *p = make<stranger_of(E, P)>(bytes_of(P)); /* @mis.alloc */
    if (guilty)
        end<E>(p, bytes_of(P)); /* @mis.call */
    else
        unmake<stranger_of(E, P)>(p);
}

template <entry E, place P> INLINE void size()
{
    void *p = make<maker_of(E, P)>(bytes_of(P)); /* @size.alloc */
    end<E>(p, bytes_of(P) - guilty);             /* @size.call */
}

template <entry E, place P> INLINE void past()
{
    void *p = make<maker_of(E, P)>(bytes_of(P)); /* @past.alloc */
    if (P == FREED)
        end<E>(p, bytes_of(P)); /* @past.free */
    if (guilty)
        write_at(p, static_cast<long>(bytes_of(P)), 0);
    if (P != FREED)
        end<E>(p, bytes_of(P)); /* @past.call */
}

template <entry E, place P> INLINE void before()
{
    void *other, *p;
    auto one = [] { return make<maker_of(E, P)>(bytes_of(P)); }; /* @before.alloc */
    make_two(one, bytes_of(P), &other, &p);                      /* @before.both */
    if (P == FREED) {
        unmake<maker_of(E, P)>(other);
        end<E>(p, bytes_of(P)); /* @before.free */
    }
    if (guilty)
        write_at(p, -1, 0);
    if (P != FREED) {
        end<E>(p, bytes_of(P)); /* @before.call */
        unmake<maker_of(E, P)>(other);
    }
}

template <entry E, place P> INLINE void inside()
{
    void *p = make<maker_of(E, P)>(bytes_of(P)); /* @inside.alloc */
    end<E>(p, bytes_of(P));                      /* @inside.free */
    if (guilty)
        write_at(p, 3, 0);
}

constexpr std::size_t too_much(place p)
{
    return when_of(OOM, p) == FULL ? bytes_of(p) : SIZE_MAX / 4 + 1;
}

/* Blocks to be resized when the heap is full. */
void *spare[] = {std::malloc(1), std::malloc(1), std::malloc(1), std::malloc(1)};

template <entry E, place P> INLINE void oom()
{
    constexpr bool full = when_of(OOM, P) == FULL;
    void *old = nullptr;
    if (facts[E].flags & FREES)
        old = full ? spare[(E == REALLOC) * 2 + (P == PAGE)] : make<MALLOC>(bytes_of(P));
    try {
        request<E>(old, guilty ? too_much(P) : bytes_of(P)); /* @oom.call */
        if (!guilty || full)
            old = nullptr; /* realloc has freed it, or it must not be freed */
    } catch (const std::bad_alloc &) {
        barrier();
    }
    std::free(old);
}

template <entry E, place P> INLINE void zero()
{
    void *p = make<maker_of(E, P)>(bytes_of(P)); /* @zero.alloc */
    resize<E>(p, guilty ? 0 : ELSEWHERE);        /* @zero.call */
}

template <entry E, place P> INLINE void align()
{
    void *p = make<maker_of(E, P)>(bytes_of(P)); /* @align.alloc */
    endas<E>(p, bytes_of(P), guilty ? 32 : 64);  /* @align.call */
}

template <entry E, place P> INLINE void power()
{
    try {
        askas<E>(bytes_of(P), guilty ? 48 : 64); /* @power.call */
    } catch (const std::bad_alloc &) {
        barrier();
    }
}

/* ---- the cells ---------------------------------------------------------------------------------------- */

constexpr entry entry_of(unsigned n)
{
    return static_cast<entry>(n / PLACE_COUNT / ERROR_COUNT);
}

constexpr error error_of(unsigned n)
{
    return static_cast<error>(n / PLACE_COUNT % ERROR_COUNT);
}

constexpr place place_of(unsigned n)
{
    return static_cast<place>(n % PLACE_COUNT);
}

#ifdef SAMPLE /* of each entry and error the first place that there is */
constexpr bool is_wanted(unsigned n)
{
    for (unsigned i = n - n % PLACE_COUNT; i < n; i++)
        if (!why_not(entry_of(i), error_of(i), place_of(i)))
            return false;
    return true;
}
#else
constexpr bool is_wanted(unsigned)
{
    return true;
}
#endif

constexpr const char *why_no(unsigned n)
{
    return !is_wanted(n) ? "not in the sample" : why_not(entry_of(n), error_of(n), place_of(n));
}

template <unsigned N> NOINLINE void commit()
{
    constexpr entry E = entry_of(N);
    constexpr place P = place_of(N);
    /* clang-format off */
    if constexpr (error_of(N) == BAF) baf<E, P>(); /* @commit.baf */
    else if constexpr (error_of(N) == DUF && P == FREED) duf_moved<E>(); /* @commit.moved */
    else if constexpr (error_of(N) == DUF) duf<E, P>(); /* @commit.duf */
    else if constexpr (error_of(N) == MAF) maf<E, P>(); /* @commit.maf */
    else if constexpr (error_of(N) == MIS) mis<E, P>(); /* @commit.mis */
    else if constexpr (error_of(N) == SIZE) size<E, P>(); /* @commit.size */
    else if constexpr (error_of(N) == PAST_END) past<E, P>(); /* @commit.behind */
    else if constexpr (error_of(N) == BEFORE) before<E, P>(); /* @commit.before */
    else if constexpr (error_of(N) == INSIDE) inside<E, P>(); /* @commit.inside */
    else if constexpr (error_of(N) == OOM) oom<E, P>(); /* @commit.oom */
    else if constexpr (error_of(N) == ZERO) zero<E, P>(); /* @commit.zero */
    else if constexpr (error_of(N) == ALIGN_GIVEN) align<E, P>(); /* @commit.align */
    else if constexpr (error_of(N) == POWER) power<E, P>(); /* @commit.power */
    /* clang-format on */
    barrier();
}

const char *region_of(place p)
{
    return p == SMALL || p == ALIGNED || p == ARRAYS ? "module"
           : p == PAGE || p == LARGE                 ? "mapped"
           : p == FREED                              ? "unmapped"
                                                     : "stack";
}

/* Damage that is detected only at the end, or when the block is freed. */
expectation wua(expectation t, error k, place p, const char *call, const char *alloc,
                const char *free)
{
    bool late = p == FREED || k == INSIDE;
    t.kind = "wua";
    t.entry = late ? "later|exit" : t.entry;
    t.bytes = 1;
    t.found = "00";
    t.state = late ? "freed" : "live";
    t.offset = k == PAST_END ? static_cast<long>(bytes_of(p)) : k == BEFORE ? -1 : 3;
    t.damage = k == PAST_END ? "behind" : k == BEFORE ? "before" : "inside";
    t.call = late ? "" : call;
    t.alloc = alloc;
    t.free = late ? free : "";
    return t;
}

expectation about(const char *kind, entry e, place p, maker m, bool freed, const char *call,
                  const char *alloc, const char *free)
{
    /* clang-format off */
    return {nullptr, kind, facts[e].recorded, bytes_of(p), 0, 0, "none", freed ? "freed" : "live",
            families[m], "none", "", call, alloc, free};
    /* clang-format on */
}

expectation expected(entry e, error k, place p)
{
    maker m = k == MIS ? stranger_of(e, p) : maker_of(e, p);
    expectation t = about("", e, p, m, false, "", "", "");
    switch (k) {
    case BAF:
        /* clang-format off */
        return {nullptr, "baf", facts[e].recorded, 0, 0, 0, "none", "never", "malloc", region_of(p), "",
                "baf.call", "", ""};
        /* clang-format on */
    case DUF:
        return p == FREED
                   ? about("duf", e, p, MALLOC, true, "moved.call", "moved.alloc", "moved.free")
                   : about("duf", e, p, m, true, "duf.call", "duf.alloc", "duf.free");
    case MAF:
        t = about("maf", e, p, m, p == FREED, "maf.call", "maf.alloc",
                  p == FREED ? "maf.free" : "");
        t.offset = 16;
        return t;
    case MIS:
        t = about("mis", e, p, m, false, "mis.call", "mis.alloc", "");
        t.bytes = facts[e].flags & SIZED ? bytes_of(p) : 0;
        return t;
    case SIZE:
        t = about("mis", e, p, m, false, "size.call", "size.alloc", "");
        t.bytes = bytes_of(p) - 1;
        return t;
    case ZERO:
        return about("rze", e, p, m, false, "zero.call", "zero.alloc", "");
    case ALIGN_GIVEN:
        t = about("mis", e, p, m, false, "align.call", "align.alloc", "");
        t.bytes = facts[e].flags & SIZED ? bytes_of(p) : 0;
        return t;
    case POWER:
        /* clang-format off */
        return {nullptr, "bal", facts[e].recorded, 0, 0, 0, "none", "never", "malloc", "none", "", "power.call", "", ""};
        /* clang-format on */
    case PAST_END:
        return wua(t, k, p, "past.call", "past.alloc", "past.free");
    case BEFORE:
        return wua(t, k, p, "before.call", "before.alloc", "before.free");
    case INSIDE:
        return wua(t, k, p, "", "inside.alloc", "inside.free");
    default: /* pvalloc rounds up to whole pages */
        /* clang-format off */
        return {nullptr, "oom", facts[e].recorded, 0, 0,
                e == BY_PVALLOC ? (too_much(p) + 4095) / 4096 * 4096 : too_much(p), "none", "never", "malloc", "none", "",
                "oom.call", "", ""};
        /* clang-format on */
    }
}

expectation expectation_of(unsigned n)
{
    expectation t = expected(entry_of(n), error_of(n), place_of(n));
    t.why_not = why_no(n);
    return t;
}

/* "entry error place", valid until the program ends. */
const char *name_of(unsigned n)
{
    static char names[ENTRY_COUNT * ERROR_COUNT * PLACE_COUNT][64];
    char *to = names[n];
    for (const char *part :
         {facts[entry_of(n)].name, ", ", error_names[error_of(n)], ", ", place_names[place_of(n)]})
        while (*part)
            *to++ = *part++;
    return names[n];
}

cell describe(unsigned n)
{
    return {name_of(n), when_of(error_of(n), place_of(n)), expectation_of(n)};
}

enum { CELLS = ENTRY_COUNT * ERROR_COUNT * PLACE_COUNT };
void (*functions[CELLS])();

template <unsigned From, unsigned To> void fill()
{
    if constexpr (To - From > 1) {
        fill<From, (From + To) / 2>();
        fill<(From + To) / 2, To>();
    } else if constexpr (why_no(From) == nullptr) {
        functions[From] = commit<From>;
    }
}

} // namespace

table crimes()
{
    if (!functions[0])
        fill<0, CELLS>();
    return {CELLS, functions, describe};
}

int main(int argc, char **argv)
{
    return escape(cells_main(argc, argv)); /* @main.call */
}
