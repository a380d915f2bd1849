/* rows_buf.c - buffers of samples, and arithmetic on them. */
#include "contract.h"

void row_unknown_until_sampled(void)
{
    struct rtc_cpc_reading r;
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    uint64_t value = 5;
    fails(rtc_cpc_buf_get(cpc, buf, 0, &value), ENODATA, 0);
    must(value == 5);
    must(rtc_cpc_buf_reading(cpc, buf, 0, &r) == 0 && !r.known && r.value == 0);
    must(strcmp(r.why, "n/a: not sampled yet") == 0 && r.source[0] == '\0');
    must(rtc_cpc_buf_hrtime(cpc, buf) == 0 && rtc_cpc_buf_tick(cpc, buf) == 0);
    fails(rtc_cpc_buf_get(cpc, buf, 1, &value), EINVAL, 0);
    fails(rtc_cpc_buf_get(cpc, buf, -1, &value), EINVAL, 0);
    fails(rtc_cpc_buf_reading(cpc, buf, 1, &r), EINVAL, 0);

    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && rtc_cpc_set_sample(cpc, set, buf) == 0);
    must(rtc_cpc_buf_reading(cpc, buf, 0, &r) == 0 && r.known && !r.scaled && r.why[0] == '\0');
    must(strcmp(r.source, "perf: software") == 0 && r.running_ns == r.enabled_ns);
    must(rtc_cpc_buf_set(cpc, buf, 0, 99) == 0 && value_of(cpc, buf, 0) == 99);
    rtc_cpc_buf_zero(cpc, buf);
    must(value_of(cpc, buf, 0) == 0 && rtc_cpc_buf_hrtime(cpc, buf) == 0);
}

static rtc_cpc_buf_t *buffer_with(rtc_cpc_t *cpc, rtc_cpc_set_t *set, uint64_t a, uint64_t b)
{
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    must(rtc_cpc_buf_set(cpc, buf, 0, a) == 0 && rtc_cpc_buf_set(cpc, buf, 1, b) == 0);
    return buf;
}

void row_arithmetic(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    add(cpc, set, "task-clock", 0, BOTH);
    rtc_cpc_buf_t *a = buffer_with(cpc, set, 10, 3), *b = buffer_with(cpc, set, 4, 5),
                  *c = buffer(cpc, set);
    rtc_cpc_buf_sub(cpc, c, a, b);
    must(value_of(cpc, c, 0) == 6 && value_of(cpc, c, 1) == (uint64_t)-2);
    rtc_cpc_buf_add(cpc, c, c, b);
    must(value_of(cpc, c, 0) == 10 && value_of(cpc, c, 1) == 3);
    rtc_cpc_buf_copy(cpc, b, a);
    must(value_of(cpc, b, 0) == 10 && value_of(cpc, b, 1) == 3);
    rtc_cpc_buf_sub(cpc, a, a, a);
    must(value_of(cpc, a, 0) == 0 && value_of(cpc, a, 1) == 0);

    /* The sum with an unknown value is unknown. */
    struct rtc_cpc_reading r;
    rtc_cpc_buf_t *fresh = buffer(cpc, set);
    rtc_cpc_buf_add(cpc, c, b, fresh);
    must(rtc_cpc_buf_reading(cpc, c, 1, &r) == 0 && !r.known);
    must(strcmp(r.why, "n/a: not known of one of the two buffers") == 0);
    rtc_cpc_buf_copy(cpc, b, fresh);
    uint64_t value;
    fails(rtc_cpc_buf_get(cpc, b, 0, &value), ENODATA, 0);
}

/* The later time, and ticks as the values. */
void row_times(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    rtc_cpc_buf_t *a = buffer(cpc, set), *b = buffer(cpc, set), *c = buffer(cpc, set);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    must(rtc_cpc_set_sample(cpc, set, a) == 0);
    touch(200);
    must(rtc_cpc_set_sample(cpc, set, b) == 0);
    must(rtc_cpc_buf_hrtime(cpc, a) > 0 && rtc_cpc_buf_hrtime(cpc, a) < rtc_cpc_buf_hrtime(cpc, b));
    must(rtc_cpc_buf_tick(cpc, a) > 0 && rtc_cpc_buf_tick(cpc, a) < rtc_cpc_buf_tick(cpc, b));
    rtc_cpc_buf_sub(cpc, c, b, a);
    must(rtc_cpc_buf_hrtime(cpc, c) == rtc_cpc_buf_hrtime(cpc, b));
    must(rtc_cpc_buf_tick(cpc, c) == rtc_cpc_buf_tick(cpc, b) - rtc_cpc_buf_tick(cpc, a));
    rtc_cpc_buf_add(cpc, c, c, a);
    must(rtc_cpc_buf_hrtime(cpc, c) == rtc_cpc_buf_hrtime(cpc, b));
    must(rtc_cpc_buf_tick(cpc, c) == rtc_cpc_buf_tick(cpc, b));
    rtc_cpc_buf_sub(cpc, c, a, b);
    must(rtc_cpc_buf_hrtime(cpc, c) == rtc_cpc_buf_hrtime(cpc, b));
    rtc_cpc_buf_copy(cpc, c, a);
    must(rtc_cpc_buf_hrtime(cpc, c) == rtc_cpc_buf_hrtime(cpc, a) &&
         rtc_cpc_buf_tick(cpc, c) == rtc_cpc_buf_tick(cpc, a));
}

void row_sets_differ(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER),
                  *other = set_of(cpc, "page-faults", USER);
    rtc_cpc_buf_t *a = buffer(cpc, set), *b = buffer(cpc, other);
    must(rtc_cpc_buf_set(cpc, a, 0, 1) == 0 && rtc_cpc_buf_set(cpc, b, 0, 2) == 0);
    rtc_cpc_buf_add(cpc, a, a, b);
    must(value_of(cpc, a, 0) == 1);
    must(last_error.subcode == RTC_CPC_CONFLICTING_REQS &&
         strcmp(last_error.text, "buffers of different sets") == 0);
    rtc_cpc_buf_copy(cpc, b, a);
    must(value_of(cpc, b, 0) == 2 && last_error.count == 2 &&
         strcmp(last_error.function, "rtc_cpc_buf_copy") == 0);

    /* A buffer of the same set, made before the set had all its requests. */
    add(cpc, set, "task-clock", 0, BOTH);
    rtc_cpc_buf_t *longer = buffer(cpc, set);
    rtc_cpc_buf_copy(cpc, longer, a);
    must(last_error.count == 3);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0 && rtc_cpc_set_sample(cpc, set, longer) == 0);
    fails(rtc_cpc_set_sample(cpc, set, a), EINVAL, 0);
    fails(rtc_cpc_set_sample(cpc, set, b), EINVAL, 0);
}

void row_buffers_outlive_their_set(void)
{
    rtc_cpc_t *cpc = open_quietly();
    rtc_cpc_set_t *set = set_of(cpc, "page-faults", USER);
    rtc_cpc_buf_t *buf = buffer(cpc, set);
    must(rtc_cpc_bind_curlwp(cpc, set, 0) == 0);
    touch(64);
    must(rtc_cpc_set_sample(cpc, set, buf) == 0 && rtc_cpc_unbind(cpc, set) == 0);
    must(rtc_cpc_set_destroy(cpc, set) == 0 && is_about(value_of(cpc, buf, 0), 64));

    /* A new set in the place of the old one is another one. */
    rtc_cpc_set_t *next = set_of(cpc, "page-faults", USER);
    must(next == set && rtc_cpc_bind_curlwp(cpc, next, 0) == 0);
    fails(rtc_cpc_set_sample(cpc, next, buf), EINVAL, 0);
}
