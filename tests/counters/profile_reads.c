/*
 * profile_reads.c - rows of profile.def: profiles, descriptors, values, snapshots.
 */
#include "profile.h"

/* ---- profiles ------------------------------------------------------------------------------------- */

void row_unsupported(void)
{
    rtc_profile_t *p = NULL;
    must(rtc_profile_open((enum rtc_profile_domain)0, 0, 0, &p, NULL) == -ENOSYS);
    must(rtc_profile_open((enum rtc_profile_domain)4, 0, 0, &p, NULL) == -ENOSYS && !p);
}

void row_open(void)
{
    rtc_profile_t *p = NULL;
    int context;
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 1, 0, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 1, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, NULL, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_THREAD, 1ull << 32, 0, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_SITE, 0, 0, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_SITE, UINT32_MAX, 0, &p, NULL) == -EINVAL);
    must(rtc_profile_open(RTC_PROFILE_THREAD, (uint64_t)getppid(), 0, &p, NULL) == -ESRCH && !p);
    errno = 55;
    must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &p, &context) == 0 && errno == 55);
    must(rtc_profile_context(p) == &context && !rtc_profile_context(NULL));
    must(rtc_profile_reset(NULL, 0) == -EINVAL && rtc_profile_start_reads(NULL, 0) == -EINVAL);
    must(rtc_profile_end_reads(NULL, 0) == -EINVAL);
}

/* A slot is reused, so a thousand need no more memory than one; open ones are distinct. */
void row_close(void)
{
    rtc_profile_t *p[50], *again;
    for (unsigned i = 0; i < 1000; i++) {
        again = open_process();
        must(!i || again == p[0]);
        p[0] = again;
        must(rtc_profile_close(again) == 0);
    }
    for (unsigned i = 0; i < 50; i++) {
        must(rtc_profile_open(RTC_PROFILE_PROCESS, 0, 0, &p[i], &p[i]) == 0);
        for (unsigned j = 0; j < i; j++)
            must(p[j] != p[i]);
    }
    for (unsigned i = 0; i < 50; i++)
        must(rtc_profile_context(p[i]) == &p[i] && rtc_profile_close(p[i]) == 0);
}

void row_close_twice(void)
{
    uint64_t value = 5;
    size_t count = 0;
    rtc_profile_t *p = open_process(), *inside = (rtc_profile_t *)((char *)p + 8);
    must(rtc_profile_close(inside) == -EINVAL &&
         rtc_profile_close((rtc_profile_t *)&value) == -EINVAL);
    must(rtc_profile_close(p) == 0 && rtc_profile_close(p) == -EINVAL &&
         rtc_profile_close(NULL) == -EINVAL);
    must(rtc_profile_read_u64(p, 1, &value) == -EINVAL && value == 5 && !rtc_profile_context(p));
    must(rtc_profile_start_reads(p, 0) == -EINVAL && rtc_profile_reset(p, 0) == -EINVAL);
    must(rtc_profile_query_vars(p, NULL, &count) == -EINVAL &&
         rtc_profile_query_events(p, NULL, &count) == -EINVAL);
    must(rtc_profile_register_callback(p, 1, NULL, NULL) == -EINVAL);
}

/* ---- descriptors ---------------------------------------------------------------------------------- */

typedef ssize_t query_fn(rtc_profile_t *, struct rtc_profile_desc *, size_t *);

static void obeys_protocol(rtc_profile_t *p, query_fn *query, size_t all)
{
    struct rtc_profile_desc list[VARIABLES + 1], other[VARIABLES + 1];
    size_t count = 5;
    must(query(p, NULL, &count) == 0 && count == all);
    memset(list, 0x5a, sizeof list);
    count = 3; /* short */
    must(query(p, list, &count) == 3 && count == all && list[3].id == 0x5a5a5a5a);
    count = all; /* exact */
    must(query(p, list, &count) == (ssize_t)all && count == all);
    must(list[all].id == 0x5a5a5a5a);
    count = all + 1; /* long */
    must(query(p, other, &count) == (ssize_t)all && count == all);
    must(memcmp(list, other, all * sizeof *list) == 0); /* strings, too, are the same ones */
    count = 0;
    must(query(p, list, &count) == 0 && count == all);
    must(query(p, list, NULL) == -EINVAL && query(NULL, list, &count) == -EINVAL);
}

void row_count_protocol(void)
{
    rtc_profile_t *p = open_process(), *thread = open_thread(0);
    obeys_protocol(p, rtc_profile_query_vars, VARIABLES);
    obeys_protocol(thread, rtc_profile_query_vars, 5);
    obeys_protocol(p, rtc_profile_query_events, EVENTS);
    size_t count = 9;
    must(rtc_profile_query_events(thread, NULL, &count) == 0 && count == 3);
}

static void are_distinct(const struct rtc_profile_desc *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool number = list[i].datatype_sel == RTC_PROFILE_PRIMITIVE;
        must(!number || (list[i].size == sizeof(uint64_t) &&
                         list[i].datatype.primitive == RTC_PROFILE_UINT64));
        must(list[i].name[0] && list[i].desc[0]);
        for (size_t j = 0; j < i; j++)
            must(list[i].id != list[j].id && strcmp(list[i].name, list[j].name) != 0);
    }
}

void row_descriptors(void)
{
    struct rtc_profile_desc list[VARIABLES];
    rtc_profile_t *p = open_process(), *thread = open_thread(0);
    size_t count = VARIABLES;
    must(rtc_profile_query_vars(p, list, &count) == VARIABLES);
    are_distinct(list, VARIABLES);
    must(rtc_profile_query_vars(thread, list, &count) == 5 && count == 5);
    for (size_t i = 0; i < 5; i++) /* the same name, the same id */
        must(list[i].id == id_of(p, list[i].name) && list[i].flags == RTC_PROFILE_COUNTER);
    count = VARIABLES;
    must(rtc_profile_query_events(p, list, &count) == EVENTS);
    are_distinct(list, EVENTS);
    must(rtc_profile_query_events(thread, list, &count) == 3);
    for (size_t i = 0; i < 3; i++)
        must(list[i].id == event_of(p, list[i].name));
}

void row_unlisted(void)
{
    uint64_t value = 5;
    size_t size = sizeof value;
    rtc_profile_t *p = open_process(), *thread = open_thread(0);
    must(rtc_profile_read_u64(p, 0, &value) == -EINVAL &&
         rtc_profile_read_u64(p, VARIABLES + 1, &value) == -EINVAL);
    must(rtc_profile_read_u64(p, UINT32_MAX, &value) == -EINVAL);
    must(rtc_profile_read_u64(thread, id_of(p, "blocks_live"), &value) == -EINVAL);
    must(rtc_profile_read_u64(NULL, 1, &value) == -EINVAL &&
         rtc_profile_read_u64(p, 1, NULL) == -EINVAL);
    must(rtc_profile_read_data(p, VARIABLES + 1, &value, &size) == -EINVAL && value == 5);
}

/* ---- values --------------------------------------------------------------------------------------- */

void row_counts(void)
{
    rtc_profile_t *p = open_process();
    uint64_t allocs = read_var(p, "alloc_calls"), frees = read_var(p, "free_calls");
    uint64_t bytes = read_var(p, "alloc_bytes"), freed = read_var(p, "free_bytes");
    uint64_t blocks = read_var(p, "blocks_live"), live = read_var(p, "bytes_live");
    allocate(0, 10);
    release(0, 4);
    must(read_var(p, "alloc_calls") == allocs + 10 && read_var(p, "free_calls") == frees + 4);
    must(read_var(p, "alloc_bytes") == bytes + 10 * BYTES &&
         read_var(p, "free_bytes") == freed + 4 * BYTES);
    must(read_var(p, "blocks_live") == blocks + 6 && read_var(p, "bytes_live") == live + 6 * BYTES);
    must(read_var(p, "bytes_peak") >= live + 6 * BYTES && read_var(p, "heap_bytes") > 0);
    must(read_var(p, "threads_live") == 1);
}

/* A peak does not decrease. */
void row_peak(void)
{
    rtc_profile_t *p = open_process();
    void *volatile q = malloc(20000);
    uint64_t peak = read_var(p, "bytes_peak");
    must(peak >= 20000);
    free(q);
    must(read_var(p, "bytes_peak") == peak);
}

/* A resize is one of each. */
void row_resizes(void)
{
    rtc_profile_t *p = open_process();
    void *volatile q = malloc(10);
    must(rtc_profile_reset(p, 0) == 0);
    must((q = realloc(q, 12)) && (q = realloc(q, 10000)));
    must(read_var(p, "realloc_calls") == 2 && read_var(p, "alloc_calls") == 2 &&
         read_var(p, "free_calls") == 2);
    must((q = realloc(NULL, 5)));
    must(read_var(p, "realloc_calls") == 2 && read_var(p, "alloc_calls") == 3);
}

void row_reset(void)
{
    rtc_profile_t *p = open_process(), *other = open_process();
    uint64_t before = read_var(other, "alloc_calls"), blocks = read_var(p, "blocks_live");
    must(rtc_profile_reset(p, 1) == -EINVAL && rtc_profile_reset(p, 0) == 0);
    allocate(0, 3);
    must(read_var(p, "alloc_calls") == 3 && read_var(p, "alloc_bytes") == 3 * BYTES);
    must(read_var(p, "free_calls") == 0 && read_var(p, "blocks_live") == blocks + 3); /* a state */
    must(read_var(other, "alloc_calls") == before + 3); /* for one profile alone */
    must(rtc_profile_start_reads(p, 0) == 0 && rtc_profile_reset(p, 0) == -EBUSY);
    must(rtc_profile_end_reads(p, 0) == 0 && rtc_profile_reset(p, 0) == 0);
    must(read_var(p, "alloc_calls") == 0);
}

void row_move_on(void)
{
    rtc_profile_t *p = open_process();
    must(rtc_profile_end_reads(p, 0) == -EINVAL && rtc_profile_start_reads(p, 2) == -EINVAL);
    must(rtc_profile_start_reads(p, 0) == 0 && rtc_profile_end_reads(p, 1) == -EINVAL);
    uint64_t allocs = read_var(p, "alloc_calls");
    allocate(0, 5);
    must(read_var(p, "alloc_calls") == allocs && rtc_profile_end_reads(p, 0) == 0);
    must(read_var(p, "alloc_calls") == allocs + 5);
    allocate(0, 1);
    must(read_var(p, "alloc_calls") == allocs + 6);
    must(rtc_profile_start_reads(p, 0) == 0 &&
         read_var(p, "alloc_calls") == allocs + 6); /* of now */
}

void row_nesting(void)
{
    rtc_profile_t *p = open_process();
    must(rtc_profile_start_reads(p, 0) == 0);
    uint64_t allocs = read_var(p, "alloc_calls");
    allocate(0, 5);
    must(rtc_profile_start_reads(p, 0) == 0 &&
         read_var(p, "alloc_calls") == allocs); /* the same one */
    must(rtc_profile_end_reads(p, 0) == 0 && read_var(p, "alloc_calls") == allocs);
    must(rtc_profile_start_reads(p, RTC_PROFILE_WITH_SITES) == -ENODATA);
    must(rtc_profile_end_reads(p, 0) == 0 && read_var(p, "alloc_calls") == allocs + 5);
    must(rtc_profile_end_reads(p, 0) == -EINVAL);
}

/* Too small, as large, larger. */
void row_data(void)
{
    uint64_t word[2] = {7, 7};
    rtc_profile_t *p = open_process();
    uint32_t allocs = id_of(p, "alloc_calls"), top = id_of(p, "top_sites");
    size_t size = 7;
    must(rtc_profile_read_data(p, allocs, word, &size) == -ERANGE && size == 8 && word[0] == 7);
    must(rtc_profile_read_data(p, allocs, word, &size) == 0 && size == 8 &&
         word[0] == read_var(p, "alloc_calls"));
    size = sizeof word;
    must(rtc_profile_read_data(p, allocs, word, &size) == 0 && size == 8 && word[1] == 7);
    size = 0;
    must(rtc_profile_read_data(p, allocs, NULL, &size) == -ERANGE && size == 8);
    must(rtc_profile_read_data(p, allocs, NULL, &size) == -EINVAL);
    must(rtc_profile_read_data(p, allocs, word, NULL) == -EINVAL);
    must(rtc_profile_read_u64(p, top, word) == -EINVAL); /* the variable is not a number */
}
