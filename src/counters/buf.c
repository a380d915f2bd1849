/*
 * buf.c - buffers of readings: access and arithmetic.  Only creation, destruction and errors take
 * the lock.
 */
#include "counters_priv.h"

#include <errno.h>
#include <string.h>

EXPORT rtc_cpc_buf_t *rtc_cpc_buf_create(rtc_cpc_t *cpc, rtc_cpc_set_t *set)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return NULL;
    bool good = is_set_of(set, cpc);
    rtc_cpc_buf_t *buf = good ? cell_take(cpc, CELL_BUF) : NULL;
    if (buf) {
        buf->set = set->number;
        buf->count = set->count;
    }
    return call_end(&c, buf ? 0 : good ? -ENOMEM : -EINVAL) ? NULL : buf;
}

EXPORT int rtc_cpc_buf_destroy(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf)
{
    struct call c;
    if (!call_begin(&c, __func__, cpc))
        return -1;
    if (!is_buf_of(buf, cpc))
        return call_end(&c, -EINVAL);
    cell_give(&buf->cell);
    return call_end(&c, 0);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Return NULL and set errno if there is no such reading. */
static struct reading *reading_at(const rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index)
{
    if (is_handle(cpc) && is_buf_of(buf, cpc) && index >= 0 && (uint32_t)index < buf->count)
        return &buf->reading[index];
    errno = EINVAL;
    return NULL;
}

EXPORT int rtc_cpc_buf_get(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index, uint64_t *val)
{
    const struct reading *r = reading_at(cpc, buf, index);
    if (!r)
        return -1;
    if (!r->known) {
        errno = ENODATA;
        return -1;
    }
    *val = reading_whole(r).value;
    return 0;
}

EXPORT int rtc_cpc_buf_set(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index, uint64_t val)
{
    struct reading *r = reading_at(cpc, buf, index);
    if (!r)
        return -1;
    *r = (struct reading){.known = true, .source = r->source, .settled.value = val};
    return 0;
}

EXPORT int rtc_cpc_buf_reading(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf, int index,
                               struct rtc_cpc_reading *out)
{
    const struct reading *r = reading_at(cpc, buf, index);
    if (!r)
        return -1;
    const struct counts whole = reading_whole(r);
    *out = (struct rtc_cpc_reading){
        .known = r->known,
        .scaled = reading_is_scaled(r),
        .value = whole.value,
        .enabled_ns = whole.enabled,
        .running_ns = whole.running,
        .source = source_name(r->source),
        .why = r->known ? "" : why_text(r->why),
    };
    return 0;
}

EXPORT int64_t rtc_cpc_buf_hrtime(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf)
{
    return is_handle(cpc) && is_buf_of(buf, cpc) ? buf->time_ns : 0;
}

EXPORT uint64_t rtc_cpc_buf_tick(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf)
{
    return is_handle(cpc) && is_buf_of(buf, cpc) ? buf->ticks : 0;
}

/* ---- two buffers ----------------------------------------------------------------------------- */

static bool are_of_one_set(const rtc_cpc_t *cpc, const rtc_cpc_buf_t *a, const rtc_cpc_buf_t *b)
{
    return is_buf_of(a, cpc) && is_buf_of(b, cpc) && a->set == b->set && a->count == b->count;
}

/* Return true if the buffers do not belong to one set, and run the error handler. */
static bool are_foreign(rtc_cpc_t *cpc, const char *function, const rtc_cpc_buf_t *result,
                        const rtc_cpc_buf_t *left, const rtc_cpc_buf_t *right)
{
    struct call c;
    if (is_handle(cpc) && are_of_one_set(cpc, result, left) && are_of_one_set(cpc, result, right))
        return false;
    if (call_begin(&c, function, cpc)) {
        text_put(call_because(&c, RTC_CPC_CONFLICTING_REQS, ""), "buffers of different sets");
        call_end(&c, -EINVAL);
    }
    return true;
}

static void combine_all(rtc_cpc_buf_t *result, const rtc_cpc_buf_t *left,
                        const rtc_cpc_buf_t *right, bool add)
{
    const struct reading *l = left->reading, *r = right->reading;
    result->time_ns = left->time_ns > right->time_ns ? left->time_ns : right->time_ns;
    result->ticks = add ? left->ticks + right->ticks : left->ticks - right->ticks;
    for (uint32_t i = 0; i < result->count; i++)
        result->reading[i] = add ? reading_sum(&l[i], &r[i]) : reading_difference(&l[i], &r[i]);
}

EXPORT void rtc_cpc_buf_sub(rtc_cpc_t *cpc, rtc_cpc_buf_t *result, rtc_cpc_buf_t *left,
                            rtc_cpc_buf_t *right)
{
    if (!are_foreign(cpc, __func__, result, left, right))
        combine_all(result, left, right, false);
}

EXPORT void rtc_cpc_buf_add(rtc_cpc_t *cpc, rtc_cpc_buf_t *result, rtc_cpc_buf_t *left,
                            rtc_cpc_buf_t *right)
{
    if (!are_foreign(cpc, __func__, result, left, right))
        combine_all(result, left, right, true);
}

EXPORT void rtc_cpc_buf_copy(rtc_cpc_t *cpc, rtc_cpc_buf_t *dest, rtc_cpc_buf_t *src)
{
    if (are_foreign(cpc, __func__, dest, src, src))
        return;
    dest->time_ns = src->time_ns;
    dest->ticks = src->ticks;
    memmove(dest->reading, src->reading, sizeof dest->reading);
}

EXPORT void rtc_cpc_buf_zero(rtc_cpc_t *cpc, rtc_cpc_buf_t *buf)
{
    if (are_foreign(cpc, __func__, buf, buf, buf))
        return;
    buf->time_ns = 0;
    buf->ticks = 0;
    memset(buf->reading, 0, sizeof buf->reading);
    for (uint32_t i = 0; i < buf->count; i++)
        buf->reading[i].known = true;
}
