/*
 * vmmalloc.c - start-up in place of libvmmalloc: its variables, and what its users expect.
 *
 * libvmmalloc must be given a directory and a size, and ends a process whose variables are missing
 * or bad.  So does this file, because its user relies on memory of that directory.  All other
 * options have values that make the runtime silent: records of errors, stacks and leaks would have
 * no reader.
 *
 * This runs before libc is initialized: no function of libc that needs it is called.  Programs with
 * the rights of another user (AT_SECURE) ignore the variables, as the loader ignores LD_PRELOAD.
 */
#include "init.h"
#include "rtcheck/pool.h"
#include "vmmalloc.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/auxv.h>

#define LINE_ROOM 4608u /* a path and a sentence */
#define DIR "VMMALLOC_POOL_DIR"
#define SIZE "VMMALLOC_POOL_SIZE"
#define FORK "VMMALLOC_FORK"
#define FORK_DEFAULT 1
#define LIBRARY "libvmmalloc.so"

static const char *variable(char *const *envp, const char *name)
{
    size_t n = text_length(name);
    for (; *envp; envp++)
        if (text_starts(*envp, name) && (*envp)[n] == '=')
            return *envp + n + 1;
    return NULL;
}

/* ---- errors ---------------------------------------------------------------------------------- */

struct message {
    struct text text;
    char room[LINE_ROOM];
};

static struct message message;

static struct text *message_begin(const char *what)
{
    message.text = text_begin(message.room, sizeof message.room - 1); /* and the newline */
    text_put(&message.text, "Error (libvmmalloc): ");
    text_put(&message.text, what);
    return &message.text;
}

/* As abort: the signal ends the process also if it is blocked or ignored. */
static _Noreturn void message_end(void)
{
    struct os_action none = {0};
    char *end = text_end(&message.text);
    *end++ = '\n';
    os_write(2, message.room, (size_t)(end - message.room));
    os_restore_action(SIGABRT, &none);
    os_unblock(SIGABRT);
    os_signal_thread(os_tid(), SIGABRT, NULL);
    os_exit_now(127);
}

static _Noreturn void refuse(const char *what)
{
    message_begin(what);
    message_end();
}

/* The texts of strerror, which may allocate, for the errors that files and mappings have. */
static const struct {
    int err;
    const char *text;
} errors[] = {{EPERM, "Operation not permitted"},
              {ENOENT, "No such file or directory"},
              {EIO, "Input/output error"},
              {ENOMEM, "Cannot allocate memory"},
              {EACCES, "Permission denied"},
              {ENOTDIR, "Not a directory"},
              {EISDIR, "Is a directory"},
              {EINVAL, "Invalid argument"},
              {ENFILE, "Too many open files in system"},
              {EMFILE, "Too many open files"},
              {EFBIG, "File too large"},
              {ENOSPC, "No space left on device"},
              {EROFS, "Read-only file system"},
              {ENAMETOOLONG, "File name too long"},
              {ENOSYS, "Function not implemented"},
              {ELOOP, "Too many levels of symbolic links"},
              {EOPNOTSUPP, "Operation not supported"},
              {EDQUOT, "Disk quota exceeded"}};

static void put_error(struct text *t, int err)
{
    text_put(t, ": ");
    for (size_t i = 0; i < countof(errors); i++)
        if (errors[i].err == -err) {
            text_put(t, errors[i].text);
            return;
        }
    text_put(t, "error ");
    text_decimal(t, (uint64_t)-err);
}

static void put_number(struct text *t, long long n)
{
    text_put(t, n < 0 ? "-" : "");
    text_decimal(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* As atoll: a text that is no number is 0; numbers too large are the largest. */
static long long number_of(const char *s)
{
    uint64_t n = 0;
    while (is_blank(*s))
        s++;
    bool is_negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    for (; *s >= '0' && *s <= '9'; s++)
        if (!checked_mul(n, 10, &n) || !checked_add(n, (uint64_t)(*s - '0'), &n) || n > LLONG_MAX)
            return is_negative ? LLONG_MIN : LLONG_MAX;
    return is_negative ? -(long long)n : (long long)n;
}

static long long number_or(char *const *envp, const char *name, long long otherwise)
{
    const char *value = variable(envp, name);
    return value ? number_of(value) : otherwise;
}

static const char *pool_folder(char *const *envp)
{
    const char *folder = variable(envp, DIR);
    if (!folder || !folder[0])
        refuse(DIR " is not set: it has to name the directory of the pool");
    return folder;
}

/* Whole pages. */
static uint64_t pool_bytes(char *const *envp)
{
    const char *value = variable(envp, SIZE);
    if (!value)
        refuse(SIZE " is not set: it has to be the size of the pool in bytes");
    long long bytes = number_of(value);
    if (bytes >= (long long)RTC_POOL_BYTES_MIN)
        return align_up((uint64_t)bytes, PAGE_BYTES);
    struct text *t = message_begin(SIZE);
    text_put(t, bytes < 0 ? " is negative (" : " is below the minimum (");
    put_number(t, bytes);
    if (bytes >= 0) {
        text_put(t, " < ");
        put_number(t, RTC_POOL_BYTES_MIN);
    }
    text_put(t, ")");
    message_end();
}

static enum fork_heap fork_policy(char *const *envp)
{
    long long n = number_or(envp, FORK, FORK_DEFAULT);
    if (n >= FORK_HEAP_SHARED && n <= FORK_HEAP_AUTO)
        return (enum fork_heap)n;
    struct text *t = message_begin(FORK " has an incorrect value (");
    put_number(t, n);
    text_put(t, "): 0 to 3 are valid");
    message_end();
}

static void start_log(char *const *envp)
{
    long long level = number_or(envp, "VMMALLOC_LOG_LEVEL", 0);
    const char *file = variable(envp, "VMMALLOC_LOG_FILE");
    uint32_t known = level < 0                      ? VMMALLOC_SILENT
                     : level > VMMALLOC_ALLOCATIONS ? VMMALLOC_ALLOCATIONS
                                                    : (uint32_t)level;
    int err =
        vmmalloc_log_start(known, file ? file : "", number_or(envp, "VMMALLOC_LOG_STATS", 0) == 1);
    if (!err)
        return;
    struct text *t = message_begin("the file of VMMALLOC_LOG_FILE could not be opened: ");
    text_put(t, file);
    put_error(t, err);
    message_end();
}

/* ---- start ----------------------------------------------------------------------------------- */

static bool is_name(const char *path)
{
    const char *name = path;
    for (; *path; path++)
        if (*path == '/')
            name = path + 1;
    return text_starts(name, LIBRARY);
}

bool drop_in_is_selected(char *const *envp)
{
    if (getauxval(AT_SECURE) || variable(envp, "RTCHECK_RUN_FILE") ||
        variable(envp, "RTCHECK_OPTIONS") || variable(envp, "RTCHECK_POOL_DIR") ||
        variable(envp, "RTCHECK_POOL_SIZE"))
        return false;
    if (variable(envp, DIR) || variable(envp, SIZE))
        return true;
    const char *own = loader_own_path();
    return own && is_name(own);
}

/* The records that these options enable would have no reader. */
static void be_silent(struct options *o)
{
    o->access = o->leaks = o->leak_check = o->mel_at_exit = false;
    o->frames = o->cost_every = 0;
}

static const char *folder_of_pool;

_Noreturn void drop_in_refuse_pool(int err)
{
    struct text *t = message_begin("the pool could not be created in ");
    text_put(t, folder_of_pool);
    put_error(t, err);
    message_end();
}

void drop_in_start(char *const *envp)
{
    folder_of_pool = pool_folder(envp);
    uint64_t bytes = pool_bytes(envp);
    rt.drop_in = (struct drop_in){
        .is_on = true, .fork = fork_policy(envp), .heap_bytes = align_down(bytes, UNIT_BYTES)};
    be_silent(&rt.options);
    start_log(envp);
    int err = bytes > RTC_HEAP_BYTES_MAX ? -EFBIG : run_make_pool(folder_of_pool, bytes);
    if (err)
        drop_in_refuse_pool(err);
    vmmalloc_log(VMMALLOC_OPERATIONS, "pool of bytes:", bytes, "");
    vmmalloc_log(VMMALLOC_OPERATIONS, "fork policy:", rt.drop_in.fork, "");
}
