/*
 * heap_cxx.c - all forms of operator new and delete, by their mangled names.
 *
 * Successful calls are handled here, and so is the loop that calls the new-handler and tries again.
 * The C++ library throws: its own operator new is called with an impossible size.  A nothrow form
 * calls the library's nothrow form, which catches the exception thrown through our throwing form.
 * A program without a C++ library has no callers of these functions.
 *
 * A program may define some of the operators itself.  The C++ library's other forms then call them:
 * array forms call the single-object forms, nothrow forms the throwing ones, sized forms the
 * unsized ones.  So if any is replaced, our derived forms pass calls on to the library's.  The
 * basic forms then allocate and free memory of any family.
 */
#include "intercept.h"

#include <dlfcn.h>
#include <string.h>

#define MIN_ALIGN 16u

/* Declare and define an exported function that no header declares. */
#define CXX(result, name, ...)       \
    EXPORT result name(__VA_ARGS__); \
    EXPORT result name(__VA_ARGS__)

typedef void *new_fn(size_t);
typedef void *new_aligned_fn(size_t, size_t);
typedef void *new_nothrow_fn(size_t, const void *);
typedef void *new_aligned_nothrow_fn(size_t, size_t, const void *);

static void find_next(void *slot, const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (!f)
        f = dlsym(RTLD_DEFAULT, name);
    memcpy(slot, &f, sizeof f);
}

typedef void new_handler_fn(void);

static new_handler_fn *find_handler(void)
{
    new_handler_fn *(*get)(void);
    find_next(&get, "_ZSt15get_new_handlerv");
    return get ? get() : NULL;
}

/* Call the new-handler, which frees memory, throws or terminates; false: none is set. */
static bool call_new_handler(void)
{
    new_handler_fn *handler = find_handler();
    if (handler)
        handler();
    return handler != NULL;
}

/* ---- programs with their own operators ------------------------------------------------------- */

static bool replaced; /* the program defines one of the basic or array forms */

/* Call the C++ library's definition; if there is none, continue in ours. */
#define STEP_ASIDE(type, name, ...)                         \
    do {                                                    \
        static void *found;                                 \
        if (unlikely(replaced)) {                           \
            type *next_definition;                          \
            found = found ? found : dlsym(RTLD_NEXT, name); \
            memcpy(&next_definition, &found, sizeof found); \
            if (found)                                      \
                return next_definition(__VA_ARGS__);        \
        }                                                   \
    } while (0)

/* Memory from a basic form of new may be freed by free, in an operator delete of the program. */
#define PLAIN(op, family) (unlikely(replaced) ? ((op) & ~(uint32_t)0xff) | (family) : (op))
/* The argument of a basic form of delete may come from any allocation function. */
#define BASIC(op) (unlikely(replaced) ? OP_ANY(op) : (op))

#define GIVE_UP(type, name, ...)                        \
    do {                                                \
        type *next_new;                                 \
        find_next(&next_new, name);                     \
        return next_new ? next_new(__VA_ARGS__) : NULL; \
    } while (0)

#define DEFINE_NEW(name, op, derived)                                                            \
    CXX(void *, name, size_t bytes)                                                              \
    {                                                                                            \
        if (derived)                                                                             \
            STEP_ASIDE(new_fn, #name, bytes);                                                    \
        void *p;                                                                                 \
        while (unlikely(!(p = track_alloc(bytes, MIN_ALIGN, PLAIN(op, FAMILY_MALLOC), CALLER)))) \
            if (!call_new_handler())                                                             \
                GIVE_UP(new_fn, #name, REQUEST_IMPOSSIBLE);                                      \
        return p;                                                                                \
    }

/*
 * Without a new-handler nothing can throw, and the error is reported here.  Otherwise it is
 * reported by our throwing form, called by the C++ library's.
 */
#define WITHOUT_OOM_REPORT(op) OP(NONE, MALLOC) | op_family(op)

#define DEFINE_NEW_NOTHROW(name, op)                                             \
    CXX(void *, name, size_t bytes, const void *nothrow)                         \
    {                                                                            \
        STEP_ASIDE(new_nothrow_fn, #name, bytes, nothrow);                       \
        void *p = track_alloc(bytes, MIN_ALIGN, WITHOUT_OOM_REPORT(op), CALLER); \
        if (likely(p))                                                           \
            return p;                                                            \
        if (!find_handler())                                                     \
            return track_refuse(bytes, op, CALLER);                              \
        GIVE_UP(new_nothrow_fn, #name, bytes, nothrow);                          \
    }

#define DEFINE_NEW_ALIGNED(name, op, derived)                                                     \
    CXX(void *, name, size_t bytes, size_t align)                                                 \
    {                                                                                             \
        if (derived)                                                                              \
            STEP_ASIDE(new_aligned_fn, #name, bytes, align);                                      \
        if (unlikely(!is_pow2(align)) && bytes != REQUEST_IMPOSSIBLE) /* via the array form */    \
            track_warn_alignment(align, op, CALLER);                                              \
        void *p = NULL;                                                                           \
        while (!is_pow2(align) ||                                                                 \
               unlikely(!(p = track_alloc_aligned(bytes, align, align, PLAIN(op, FAMILY_ALIGNED), \
                                                  CALLER))))                                      \
            if (!is_pow2(align) || !call_new_handler())                                           \
                GIVE_UP(new_aligned_fn, #name, REQUEST_IMPOSSIBLE, align);                        \
        return p;                                                                                 \
    }

#define DEFINE_NEW_ALIGNED_NOTHROW(name, op)                                                      \
    CXX(void *, name, size_t bytes, size_t align, const void *nothrow)                            \
    {                                                                                             \
        STEP_ASIDE(new_aligned_nothrow_fn, #name, bytes, align, nothrow);                         \
        bool good = is_pow2(align);                                                               \
        void *p = good ? track_alloc_aligned(bytes, align, align, WITHOUT_OOM_REPORT(op), CALLER) \
                       : NULL;                                                                    \
        if (likely(p))                                                                            \
            return p;                                                                             \
        if (good && !find_handler())                                                              \
            return track_refuse(bytes, op, CALLER);                                               \
        GIVE_UP(new_aligned_nothrow_fn, #name, bytes, align, nothrow);                            \
    }

DEFINE_NEW(_Znwm, OP(NEW, NEW), false)
DEFINE_NEW(_Znam, OP(NEW_ARRAY, NEW_ARRAY), true)
DEFINE_NEW_NOTHROW(_ZnwmRKSt9nothrow_t, OP(NEW, NEW))
DEFINE_NEW_NOTHROW(_ZnamRKSt9nothrow_t, OP(NEW_ARRAY, NEW_ARRAY))
DEFINE_NEW_ALIGNED(_ZnwmSt11align_val_t, OP(NEW_ALIGNED, NEW_ALIGNED), false)
DEFINE_NEW_ALIGNED(_ZnamSt11align_val_t, OP(NEW_ARRAY_ALIGNED, NEW_ARRAY_ALIGNED), true)
DEFINE_NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, OP(NEW_ALIGNED, NEW_ALIGNED))
DEFINE_NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t,
                           OP(NEW_ARRAY_ALIGNED, NEW_ARRAY_ALIGNED))

/*
 * Operator delete: plain, sized, aligned, sized and aligned, and nothrow forms for failed
 * constructors.
 */

#define DEFINE_DELETE(name, op, derived)  \
    CXX(void, name, void *p)              \
    {                                     \
        typedef void type(void *);        \
        if (derived)                      \
            STEP_ASIDE(type, #name, p);   \
        track_free(p, BASIC(op), CALLER); \
    }
#define DEFINE_DELETE_2(name, op, second, derived) \
    CXX(void, name, void *p, second more)          \
    {                                              \
        typedef void type(void *, second);         \
        if (derived)                               \
            STEP_ASIDE(type, #name, p, more);      \
        (void)more;                                \
        track_free(p, BASIC(op), CALLER);          \
    }
/* Blocks from the program's own operator new have no recorded alignment. */
#define ALIGN_IF_KNOWN(align) (unlikely(replaced) ? 0 : (align))
#define DEFINE_DELETE_ALIGNED(name, op, derived)                                         \
    CXX(void, name, void *p, size_t align)                                               \
    {                                                                                    \
        typedef void type(void *, size_t);                                               \
        if (derived)                                                                     \
            STEP_ASIDE(type, #name, p, align);                                           \
        track_free_aligned(p, SIZE_NOT_GIVEN, ALIGN_IF_KNOWN(align), BASIC(op), CALLER); \
    }
#define DEFINE_DELETE_ALIGNED_NOTHROW(name, op)                                   \
    CXX(void, name, void *p, size_t align, const void *nothrow)                   \
    {                                                                             \
        typedef void type(void *, size_t, const void *);                          \
        STEP_ASIDE(type, #name, p, align, nothrow);                               \
        track_free_aligned(p, SIZE_NOT_GIVEN, ALIGN_IF_KNOWN(align), op, CALLER); \
    }
#define DEFINE_DELETE_SIZED(name, op)           \
    CXX(void, name, void *p, size_t bytes)      \
    {                                           \
        typedef void type(void *, size_t);      \
        STEP_ASIDE(type, #name, p, bytes);      \
        track_free_sized(p, bytes, op, CALLER); \
    }
#define DEFINE_DELETE_SIZED_ALIGNED(name, op)                            \
    CXX(void, name, void *p, size_t bytes, size_t align)                 \
    {                                                                    \
        typedef void type(void *, size_t, size_t);                       \
        STEP_ASIDE(type, #name, p, bytes, align);                        \
        track_free_aligned(p, bytes, ALIGN_IF_KNOWN(align), op, CALLER); \
    }

#define ONE OP(DELETE, NEW)
#define ARRAY OP(DELETE_ARRAY, NEW_ARRAY)
#define ONE_ALIGNED OP(DELETE_ALIGNED, NEW_ALIGNED)
#define ARRAY_ALIGNED OP(DELETE_ARRAY_ALIGNED, NEW_ARRAY_ALIGNED)

DEFINE_DELETE(_ZdlPv, ONE, false)
DEFINE_DELETE(_ZdaPv, ARRAY, true)
DEFINE_DELETE_SIZED(_ZdlPvm, ONE)
DEFINE_DELETE_SIZED(_ZdaPvm, ARRAY)
DEFINE_DELETE_2(_ZdlPvRKSt9nothrow_t, ONE, const void *, true)
DEFINE_DELETE_2(_ZdaPvRKSt9nothrow_t, ARRAY, const void *, true)
DEFINE_DELETE_ALIGNED(_ZdlPvSt11align_val_t, ONE_ALIGNED, false)
DEFINE_DELETE_ALIGNED(_ZdaPvSt11align_val_t, ARRAY_ALIGNED, true)
DEFINE_DELETE_SIZED_ALIGNED(_ZdlPvmSt11align_val_t, ONE_ALIGNED)
DEFINE_DELETE_SIZED_ALIGNED(_ZdaPvmSt11align_val_t, ARRAY_ALIGNED)
DEFINE_DELETE_ALIGNED_NOTHROW(_ZdlPvSt11align_val_tRKSt9nothrow_t, ONE_ALIGNED)
DEFINE_DELETE_ALIGNED_NOTHROW(_ZdaPvSt11align_val_tRKSt9nothrow_t, ARRAY_ALIGNED)

/* ---- start ----------------------------------------------------------------------------------- */

void cxx_look_for_replacements(void)
{
    static const struct {
        const char *name;
        void (*own)(void);
    } forms[] = {
#define FORM(name) {#name, (void (*)(void))name}
        FORM(_Znwm),  FORM(_Znam),  FORM(_ZnwmSt11align_val_t),  FORM(_ZnamSt11align_val_t),
        FORM(_ZdlPv), FORM(_ZdaPv), FORM(_ZdlPvSt11align_val_t), FORM(_ZdaPvSt11align_val_t),
#undef FORM
    };
    for (size_t i = 0; i < countof(forms); i++) {
        void *f = dlsym(RTLD_DEFAULT, forms[i].name);
        replaced |= f && f != (void *)(uintptr_t)forms[i].own;
    }
}
