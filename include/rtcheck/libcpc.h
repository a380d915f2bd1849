/*
 * libcpc.h - the names of Solaris' libcpc and of the parts of libpctx that it uses, over
 * rtcheck/cpc.h.
 *
 * A program of libcpc compiles with this header in place of <libcpc.h> and <libpctx.h>.  Nothing is
 * linked.  Without the runtime cpc_open returns NULL with ENOSYS.
 *
 * Semantics are those of rtcheck/cpc.h; docs/counters.md lists the differences from libcpc, with
 * reasons.  Where the manual pages and the programming guide of Solaris contradict each other, this
 * header has both: cpc_buf_set takes a value or its address; cpc_buf_sub, _add and _copy return an
 * int, which is 0 if the buffers fit together, else -1.
 */
#ifndef RTCHECK_LIBCPC_H
#define RTCHECK_LIBCPC_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h> /* the manual pages' examples rely on it */
#include <sys/types.h>

#include "cpc.h"

/* The overflow signal and its si_code, which Solaris' programs test. */
#define SIGEMT SIGIO
#define EMT_CPCOVF 6 /* POLL_HUP */

#define CPC_VER_CURRENT RTC_CPC_VER_CURRENT
#define CPC_COUNT_USER RTC_CPC_COUNT_USER
#define CPC_COUNT_SYSTEM RTC_CPC_COUNT_SYSTEM
#define CPC_OVF_NOTIFY_EMT RTC_CPC_OVF_NOTIFY_EMT
#define CPC_BIND_LWP_INHERIT RTC_CPC_BIND_LWP_INHERIT
#define CPC_CAP_OVERFLOW_INTERRUPT RTC_CPC_CAP_OVERFLOW_INTERRUPT
#define CPC_CAP_OVERFLOW_PRECISE RTC_CPC_CAP_OVERFLOW_PRECISE
#define CPC_OVERFLOW_INTERRUPT RTC_CPC_CAP_OVERFLOW_INTERRUPT
#define CPC_OVERFLOW_PRECISE RTC_CPC_CAP_OVERFLOW_PRECISE

#define CPC_INVALID_EVENT RTC_CPC_INVALID_EVENT
#define CPC_INVALID_PICNUM RTC_CPC_INVALID_PICNUM
#define CPC_INVALID_ATTRIBUTE RTC_CPC_INVALID_ATTRIBUTE
#define CPC_ATTRIBUTE_OUT_OF_RANGE RTC_CPC_ATTRIBUTE_OUT_OF_RANGE
#define CPC_RESOURCE_UNAVAIL RTC_CPC_RESOURCE_UNAVAIL
#define CPC_PIC_NOT_CAPABLE RTC_CPC_PIC_NOT_CAPABLE
#define CPC_REQ_INVALID_FLAGS RTC_CPC_REQ_INVALID_FLAGS
#define CPC_CONFLICTING_REQS RTC_CPC_CONFLICTING_REQS
#define CPC_ATTR_REQUIRES_PRIVILEGE RTC_CPC_ATTR_REQUIRES_PRIVILEGE

#ifdef __cplusplus
extern "C" {
#endif

typedef rtc_cpc_t cpc_t;
typedef rtc_cpc_set_t cpc_set_t;
typedef rtc_cpc_buf_t cpc_buf_t;
typedef rtc_cpc_attr_t cpc_attr_t;
typedef rtc_pctx_t pctx_t;
typedef rtc_cpc_errhndlr_t cpc_errhndlr_t;
typedef void pctx_errfn_t(const char *fn, const char *fmt, va_list ap);
typedef unsigned int uint_t;
typedef int64_t hrtime_t;
typedef int processorid_t;

#define RTC_LIBCPC_INLINE static inline __attribute__((unused))

extern int rtc_libcpc_gettid(void) __asm__("gettid");

/* The calling thread: its number on Linux. */
RTC_LIBCPC_INLINE int rtc_libcpc_lwp_self(void)
{
    return rtc_libcpc_gettid();
}
#define _lwp_self() rtc_libcpc_lwp_self()

/* ---- handles --------------------------------------------------------------------------------- */

RTC_LIBCPC_INLINE cpc_t *cpc_open(int version)
{
    if (rtc_cpc_open)
        return rtc_cpc_open(version);
    errno = ENOSYS;
    return NULL;
}

RTC_LIBCPC_INLINE int cpc_close(cpc_t *cpc)
{
    return rtc_cpc_close(cpc);
}

RTC_LIBCPC_INLINE uint_t cpc_npic(cpc_t *cpc)
{
    return rtc_cpc_npic(cpc);
}

RTC_LIBCPC_INLINE uint_t cpc_caps(cpc_t *cpc)
{
    return rtc_cpc_caps(cpc);
}

RTC_LIBCPC_INLINE const char *cpc_cciname(cpc_t *cpc)
{
    return rtc_cpc_cciname(cpc);
}

RTC_LIBCPC_INLINE const char *cpc_cpuref(cpc_t *cpc)
{
    return rtc_cpc_cpuref(cpc);
}

RTC_LIBCPC_INLINE void cpc_seterrhndlr(cpc_t *cpc, cpc_errhndlr_t *errhndlr)
{
    rtc_cpc_seterrhndlr(cpc, errhndlr);
}

/* ---- lists ----------------------------------------------------------------------------------- */

RTC_LIBCPC_INLINE void cpc_walk_events_all(cpc_t *cpc, void *arg,
                                           void (*action)(void *arg, const char *event))
{
    rtc_cpc_walk_events_all(cpc, arg, action);
}

RTC_LIBCPC_INLINE void cpc_walk_generic_events_all(cpc_t *cpc, void *arg,
                                                   void (*action)(void *arg, const char *event))
{
    rtc_cpc_walk_generic_events_all(cpc, arg, action);
}

RTC_LIBCPC_INLINE void cpc_walk_events_pic(cpc_t *cpc, uint_t picno, void *arg,
                                           void (*action)(void *arg, uint_t picno,
                                                          const char *event))
{
    rtc_cpc_walk_events_pic(cpc, picno, arg, action);
}

RTC_LIBCPC_INLINE void cpc_walk_generic_events_pic(cpc_t *cpc, uint_t picno, void *arg,
                                                   void (*action)(void *arg, uint_t picno,
                                                                  const char *event))
{
    rtc_cpc_walk_generic_events_pic(cpc, picno, arg, action);
}

RTC_LIBCPC_INLINE void cpc_walk_attrs(cpc_t *cpc, void *arg,
                                      void (*action)(void *arg, const char *attr))
{
    rtc_cpc_walk_attrs(cpc, arg, action);
}

/* ---- sets ------------------------------------------------------------------------------------ */

RTC_LIBCPC_INLINE cpc_set_t *cpc_set_create(cpc_t *cpc)
{
    return rtc_cpc_set_create(cpc);
}

RTC_LIBCPC_INLINE int cpc_set_destroy(cpc_t *cpc, cpc_set_t *set)
{
    return rtc_cpc_set_destroy(cpc, set);
}

RTC_LIBCPC_INLINE int cpc_set_add_request(cpc_t *cpc, cpc_set_t *set, const char *event,
                                          uint64_t preset, uint_t flags, uint_t nattrs,
                                          const cpc_attr_t *attrs)
{
    return rtc_cpc_set_add_request(cpc, set, event, preset, flags, nattrs, attrs);
}

RTC_LIBCPC_INLINE int cpc_set_request_preset(cpc_t *cpc, cpc_set_t *set, int index, uint64_t preset)
{
    return rtc_cpc_set_request_preset(cpc, set, index, preset);
}

RTC_LIBCPC_INLINE int cpc_request_preset(cpc_t *cpc, int index, uint64_t preset)
{
    return rtc_cpc_request_preset(cpc, index, preset);
}

RTC_LIBCPC_INLINE void cpc_walk_requests(cpc_t *cpc, cpc_set_t *set, void *arg,
                                         void (*action)(void *arg, int index, const char *event,
                                                        uint64_t preset, uint_t flags, int nattrs,
                                                        const cpc_attr_t *attrs))
{
    rtc_cpc_walk_requests(cpc, set, arg, action);
}

/* ---- binding --------------------------------------------------------------------------------- */

RTC_LIBCPC_INLINE int cpc_bind_curlwp(cpc_t *cpc, cpc_set_t *set, uint_t flags)
{
    return rtc_cpc_bind_curlwp(cpc, set, flags);
}

RTC_LIBCPC_INLINE int cpc_bind_pctx(cpc_t *cpc, pctx_t *pctx, pid_t id, cpc_set_t *set,
                                    uint_t flags)
{
    return rtc_cpc_bind_pctx(cpc, pctx, id, set, flags);
}

RTC_LIBCPC_INLINE int cpc_bind_cpu(cpc_t *cpc, processorid_t id, cpc_set_t *set, uint_t flags)
{
    return rtc_cpc_bind_cpu(cpc, id, set, flags);
}

RTC_LIBCPC_INLINE int cpc_unbind(cpc_t *cpc, cpc_set_t *set)
{
    return rtc_cpc_unbind(cpc, set);
}

RTC_LIBCPC_INLINE int cpc_set_restart(cpc_t *cpc, cpc_set_t *set)
{
    return rtc_cpc_set_restart(cpc, set);
}

RTC_LIBCPC_INLINE int cpc_enable(cpc_t *cpc)
{
    return rtc_cpc_enable(cpc);
}

RTC_LIBCPC_INLINE int cpc_disable(cpc_t *cpc)
{
    return rtc_cpc_disable(cpc);
}

/* ---- other processes ------------------------------------------------------------------------- */

RTC_LIBCPC_INLINE void rtc_libcpc_report(pctx_errfn_t *errfn, const char *fn, const char *fmt, ...)
{
    va_list ap;
    int saved = errno;
    va_start(ap, fmt);
    if (errfn)
        errfn(fn, fmt, ap);
    va_end(ap);
    errno = saved;
}

/* There are no callbacks to which arg could be passed, and nothing is printed. */
RTC_LIBCPC_INLINE pctx_t *pctx_capture(pid_t pid, void *arg, int verbose, pctx_errfn_t *errfn)
{
    (void)arg, (void)verbose;
    pctx_t *pctx = rtc_pctx_capture(pid);
    if (!pctx)
        rtc_libcpc_report(errfn, "pctx_capture", "no process %d", (int)pid);
    return pctx;
}

RTC_LIBCPC_INLINE pctx_t *pctx_create(const char *filename, char *const *argv, void *arg,
                                      int verbose, pctx_errfn_t *errfn)
{
    (void)arg, (void)verbose;
    pctx_t *pctx = rtc_pctx_create(filename, argv);
    if (!pctx)
        rtc_libcpc_report(errfn, "pctx_create", "cannot start %s", filename);
    return pctx;
}

RTC_LIBCPC_INLINE void pctx_release(pctx_t *pctx)
{
    rtc_pctx_release(pctx);
}

/* ---- buffers --------------------------------------------------------------------------------- */

RTC_LIBCPC_INLINE cpc_buf_t *cpc_buf_create(cpc_t *cpc, cpc_set_t *set)
{
    return rtc_cpc_buf_create(cpc, set);
}

RTC_LIBCPC_INLINE int cpc_buf_destroy(cpc_t *cpc, cpc_buf_t *buf)
{
    return rtc_cpc_buf_destroy(cpc, buf);
}

RTC_LIBCPC_INLINE int cpc_set_sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
    return rtc_cpc_set_sample(cpc, set, buf);
}

/* The guide's text has this name. */
RTC_LIBCPC_INLINE int cpc_buf_sample(cpc_t *cpc, cpc_set_t *set, cpc_buf_t *buf)
{
    return rtc_cpc_set_sample(cpc, set, buf);
}

RTC_LIBCPC_INLINE int cpc_buf_get(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t *val)
{
    return rtc_cpc_buf_get(cpc, buf, index, val);
}

RTC_LIBCPC_INLINE hrtime_t cpc_buf_hrtime(cpc_t *cpc, cpc_buf_t *buf)
{
    return rtc_cpc_buf_hrtime(cpc, buf);
}

RTC_LIBCPC_INLINE uint64_t cpc_buf_tick(cpc_t *cpc, cpc_buf_t *buf)
{
    return rtc_cpc_buf_tick(cpc, buf);
}

RTC_LIBCPC_INLINE int rtc_libcpc_clear_errno(void)
{
    int saved = errno;
    errno = 0;
    return saved;
}

/* The functions of cpc.h return nothing, but set errno. */
RTC_LIBCPC_INLINE int rtc_libcpc_result(int saved)
{
    if (errno)
        return -1;
    errno = saved;
    return 0;
}

RTC_LIBCPC_INLINE int cpc_buf_sub(cpc_t *cpc, cpc_buf_t *result, cpc_buf_t *left, cpc_buf_t *right)
{
    int saved = rtc_libcpc_clear_errno();
    rtc_cpc_buf_sub(cpc, result, left, right);
    return rtc_libcpc_result(saved);
}

RTC_LIBCPC_INLINE int cpc_buf_add(cpc_t *cpc, cpc_buf_t *result, cpc_buf_t *left, cpc_buf_t *right)
{
    int saved = rtc_libcpc_clear_errno();
    rtc_cpc_buf_add(cpc, result, left, right);
    return rtc_libcpc_result(saved);
}

RTC_LIBCPC_INLINE int cpc_buf_copy(cpc_t *cpc, cpc_buf_t *dest, cpc_buf_t *src)
{
    int saved = rtc_libcpc_clear_errno();
    rtc_cpc_buf_copy(cpc, dest, src);
    return rtc_libcpc_result(saved);
}

RTC_LIBCPC_INLINE void cpc_buf_zero(cpc_t *cpc, cpc_buf_t *buf)
{
    rtc_cpc_buf_zero(cpc, buf);
}

RTC_LIBCPC_INLINE int rtc_libcpc_set(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t val)
{
    return rtc_cpc_buf_set(cpc, buf, index, val);
}

RTC_LIBCPC_INLINE int rtc_libcpc_set_from(cpc_t *cpc, cpc_buf_t *buf, int index,
                                          const uint64_t *val)
{
    return rtc_cpc_buf_set(cpc, buf, index, *val);
}

#ifdef __cplusplus
}

RTC_LIBCPC_INLINE int cpc_buf_set(cpc_t *cpc, cpc_buf_t *buf, int index, uint64_t val)
{
    return rtc_libcpc_set(cpc, buf, index, val);
}

RTC_LIBCPC_INLINE int cpc_buf_set(cpc_t *cpc, cpc_buf_t *buf, int index, const uint64_t *val)
{
    return rtc_libcpc_set_from(cpc, buf, index, val);
}
#else
#define cpc_buf_set(cpc, buf, index, val) \
    (__extension__ _Generic((val), uint64_t *                \
                            : rtc_libcpc_set_from, const uint64_t * \
                            : rtc_libcpc_set_from, default   \
                            : rtc_libcpc_set)(cpc, buf, index, val))
#endif

#endif
