/*
 * pctx.c - sets that count another process, one of its threads, or a processor.
 *
 * To count a process from its first instruction on, it is forked and waits at one end of a socket
 * pair.  A byte releases it; end of file means that its parent has ended, and it exits.  Its
 * counters are opened before the release and enabled at its exec.
 */
#include "counters_priv.h"

#include <errno.h>
#include <unistd.h>

#define PCTX_MARK 0x70637478u

struct rtc_pctx {
    uint32_t mark;
    pid_t pid;
    int release; /* our end of the socket pair; -1: it runs */
};

static bool is_pctx(const rtc_pctx_t *p)
{
    return p && p->mark == PCTX_MARK;
}

static rtc_pctx_t *fail(int error)
{
    errno = error;
    return NULL;
}

static rtc_pctx_t *new_pctx(pid_t pid, int release)
{
    rtc_pctx_t *p = os_map(PAGE_BYTES);
    if (!os_failed(p))
        *p = (rtc_pctx_t){PCTX_MARK, pid, release};
    return os_failed(p) ? NULL : p;
}

EXPORT rtc_pctx_t *rtc_pctx_capture(pid_t pid)
{
    if (pid <= 0 || os_process_gone((uint32_t)pid))
        return fail(ESRCH);
    rtc_pctx_t *p = new_pctx(pid, -1);
    return p ? p : fail(ENOMEM);
}

static _Noreturn void wait_and_run(const int ends[2], const char *file, char *const argv[])
{
    char word;
    long got;
    os_close(ends[0]);
    while ((got = os_read(ends[1], &word, 1)) == -EINTR)
        ;
    if (got == 1)
        execvp(file, argv);
    _exit(127);
}

EXPORT rtc_pctx_t *rtc_pctx_create(const char *file, char *const argv[])
{
    int ends[2], err = os_sandboxed() ? -EPERM : os_pair(ends);
    rtc_pctx_t *p = err ? NULL : new_pctx(-1, ends[0]);
    if (err)
        return fail(-err);
    pid_t pid = p ? fork() : -1;
    if (pid == 0)
        wait_and_run(ends, file, argv);
    err = p ? errno : ENOMEM;
    os_close(ends[1]);
    if (pid > 0) {
        p->pid = pid;
        return p;
    }
    os_close(ends[0]);
    if (p)
        os_unmap(p, PAGE_BYTES);
    return fail(err);
}

EXPORT pid_t rtc_pctx_pid(rtc_pctx_t *pctx)
{
    return is_pctx(pctx) ? pctx->pid : -1;
}

EXPORT int rtc_pctx_release(rtc_pctx_t *pctx)
{
    if (!is_pctx(pctx)) {
        errno = EINVAL;
        return -1;
    }
    if (pctx->release >= 0) {
        os_write(pctx->release, "", 1); /* it may have ended: wait reports that */
        os_close(pctx->release);
    }
    pctx->mark = 0;
    os_unmap(pctx, PAGE_BYTES);
    return 0;
}

/* ---- binding --------------------------------------------------------------------------------- */

static bool has_thread(pid_t pid, pid_t id)
{
    char path[64];
    struct stat found;
    struct text t = text_begin(path, sizeof path);
    text_put(&t, "/proc/");
    text_decimal(&t, (uint64_t)pid);
    text_put(&t, "/task/");
    text_decimal(&t, (uint64_t)id);
    text_end(&t);
    return os_stat(path, &found) == 0;
}

static int bind_pctx(struct call *c, const rtc_pctx_t *pctx, pid_t id, rtc_cpc_set_t *set,
                     unsigned flags)
{
    int err = is_pctx(pctx) && id >= 0 ? check_binding(c, set, flags, 0) : -EINVAL;
    if (err)
        return err;
    const struct target whom = {
        .pid = id ? id : pctx->pid, .cpu = -1, .on_exec = pctx->release >= 0};
    if (id && id != pctx->pid && !os_sandboxed() && !has_thread(pctx->pid, id))
        return refused(c, &set->request[0], -ESRCH);
    return bind_set(c, set, &whom, true);
}

EXPORT int rtc_cpc_bind_pctx(rtc_cpc_t *cpc, rtc_pctx_t *pctx, pid_t id, rtc_cpc_set_t *set,
                             unsigned flags)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    return call_end(&c, bind_pctx(&c, pctx, id, set, flags));
}

/* If /sys is not available, return true: the kernel will check the number. */
static bool has_processor(int cpu)
{
    char path[64];
    struct stat found;
    struct text t = text_begin(path, sizeof path);
    text_put(&t, "/sys/devices/system/cpu/cpu");
    text_decimal(&t, (uint64_t)cpu);
    text_end(&t);
    return os_stat("/sys/devices/system/cpu", &found) || os_stat(path, &found) == 0;
}

static int bind_cpu(struct call *c, int cpu, rtc_cpc_set_t *set, unsigned flags)
{
    int err = check_binding(c, set, flags, 0);
    if (err)
        return err;
    if (cpu >= 0 && (os_sandboxed() || has_processor(cpu)))
        return bind_set(c, set, &(struct target){.pid = -1, .cpu = cpu}, true);
    text_put(call_because(c, RTC_CPC_RESOURCE_UNAVAIL, ""), "n/a: there is no such processor");
    return -EINVAL;
}

EXPORT int rtc_cpc_bind_cpu(rtc_cpc_t *cpc, int cpu, rtc_cpc_set_t *set, unsigned flags)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    return call_end(&c, bind_cpu(&c, cpu, set, flags));
}
