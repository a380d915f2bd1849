/*
 * refusals.c - messages for counters that are not available.  Each cause has a sentence with its
 * remedy.  A refused counter never returns a number.
 */
#include "counters_priv.h"

#include <errno.h>
#include <linux/perf_event.h>

static int not_found(struct call *c, const struct request *r)
{
    struct text *w = call_because(c, RTC_CPC_INVALID_EVENT, r->name);
    if (r->event.source != SOURCE_HARDWARE)
        text_put(w, refusal_text(REFUSAL_NO_EVENT));
    else if (handle_lacks_hardware(c->cpc) == -ENOENT)
        text_put(w, refusal_text(REFUSAL_NO_PMU));
    else
        text_put(w, refusal_text(REFUSAL_NOT_OF_PMU));
    return -EINVAL;
}

static int not_permitted(struct call *c, const struct request *r)
{
    struct text *w = call_because(c, RTC_CPC_ATTR_REQUIRES_PRIVILEGE, r->name);
    int64_t level;
    bool in_kernel = r->flags & RTC_CPC_COUNT_SYSTEM;
    text_put(w, refusal_text(REFUSAL_PERMISSION));
    text_put(w, in_kernel ? " in the kernel" : "");
    text_put(w, " (perf_event_paranoid is ");
    if (!os_perf_paranoid(&level)) {
        text_put(w, "not known)");
        return -EACCES;
    }
    text_put(w, level < 0 ? "-" : "");
    text_decimal(w, (uint64_t)(level < 0 ? -level : level));
    text_put(w, ")");
    return -EACCES;
}

int no_descriptors(struct call *c, const char *subject, int err)
{
    struct text *w = call_because(c, RTC_CPC_RESOURCE_UNAVAIL, subject);
    text_put(w, refusal_text(err == -EMFILE ? REFUSAL_NO_DESCRIPTOR : REFUSAL_NO_FILE));
    if (err == -EMFILE) {
        text_decimal(w, os_limit(RLIMIT_NOFILE));
        text_put(w, ")");
    }
    return err;
}

static int refuse_with(struct call *c, const struct request *r, int subcode, enum refusal why,
                       int err)
{
    text_put(call_because(c, subcode, r->name), refusal_text(why));
    return err;
}

static int not_explained(struct call *c, const struct request *r, int err)
{
    struct text *w = call_because(c, RTC_CPC_RESOURCE_UNAVAIL, r->name);
    text_put(w, refusal_text(REFUSAL_OTHER));
    text_decimal(w, (uint64_t)-err);
    return err;
}

int refused(struct call *c, const struct request *r, int err)
{
    switch (err) {
    case -ENOENT:
        return not_found(c, r);
    case -EACCES:
        return not_permitted(c, r);
    case -EPERM:
        return refuse_with(c, r, RTC_CPC_ATTR_REQUIRES_PRIVILEGE, REFUSAL_FORBIDDEN, -EACCES);
    case -ENOSYS:
        return refuse_with(c, r, RTC_CPC_UNAVAILABLE, REFUSAL_NO_PERF, err);
    case -ECANCELED:
        return refuse_with(c, r, RTC_CPC_UNAVAILABLE, REFUSAL_SANDBOX, err);
    case -EINVAL:
        return refuse_with(c, r, RTC_CPC_REQ_INVALID_FLAGS, REFUSAL_NOT_SO, err);
    case -EMFILE:
    case -ENFILE:
        return no_descriptors(c, r->name, err);
    case -EBUSY:
        return refuse_with(c, r, RTC_CPC_RESOURCE_UNAVAIL, REFUSAL_TAKEN, -EAGAIN);
    case -ENOSPC:
        return refuse_with(c, r, RTC_CPC_RESOURCE_UNAVAIL, REFUSAL_ALL_TAKEN, -EAGAIN);
    case -EOPNOTSUPP:
        return refuse_with(
            c, r, RTC_CPC_PIC_NOT_CAPABLE,
            r->flags & RTC_CPC_OVF_NOTIFY_EMT ? REFUSAL_NO_INTERRUPT : REFUSAL_NO_WAY, err);
    case -ESRCH:
        return refuse_with(c, r, RTC_CPC_RESOURCE_UNAVAIL, REFUSAL_NO_THREAD, err);
    case -ENODEV:
        return refuse_with(c, r, RTC_CPC_RESOURCE_UNAVAIL, REFUSAL_OFFLINE, -ENOSYS);
    default:
        return not_explained(c, r, err);
    }
}
