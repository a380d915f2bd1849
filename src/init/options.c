/*
 * options.c - parser of the runtime's options: the text that a launcher wrote into the run header,
 * or RTCHECK_OPTIONS without a launcher. The names are those of options.def.
 */
#include "init.h"

struct value {
    const char *at;
    size_t length;
    bool none; /* the key has no value */
};

static bool is_separator(char c)
{
    return c == ':' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Compare a key with a name of options.def; '_' may be written for '-'. */
static bool key_is(const char *key, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!name[i] || name[i] != (key[i] == '_' ? '-' : key[i]))
            return false;
    return !name[n];
}

static bool value_is(struct value v, const char *word)
{
    return text_length(word) == v.length && text_starts(v.at, word);
}

static void read_flag(bool *out, struct value v)
{
    if (v.none || value_is(v, "yes") || value_is(v, "1") || value_is(v, "on") ||
        value_is(v, "true"))
        *out = true;
    else if (value_is(v, "no") || value_is(v, "0") || value_is(v, "off") || value_is(v, "false"))
        *out = false;
}

/* false: it is no size, and *out is unchanged. */
static bool read_size(uint64_t *out, struct value v)
{
    const char *s = v.at;
    uint64_t n, unit = 1;
    if (!text_parse_decimal(&s, &n))
        return false;
    switch (*s | 0x20) {
    case 'k':
        unit = 1ull << 10;
        break;
    case 'm':
        unit = 1ull << 20;
        break;
    case 'g':
        unit = 1ull << 30;
        break;
    default:
        break;
    }
    s += unit > 1;
    if ((size_t)(s - v.at) != v.length || !checked_mul(n, unit, &n))
        return false;
    *out = n;
    return true;
}

static void read_byte(int *out, struct value v)
{
    const char *s = v.at;
    uint64_t n;
    if (value_is(v, "no")) {
        *out = -1;
        return;
    }
    bool hex = text_starts(s, "0x") || text_starts(s, "0X");
    s += hex ? 2 : 0;
    if ((hex ? text_parse_hex(&s, &n) : text_parse_decimal(&s, &n)) &&
        (size_t)(s - v.at) == v.length && n <= 255)
        *out = (int)n;
}

/* In hexadecimal, with and without 0x; or a word. */
static void read_fill(int *out, struct value v)
{
    const char *s = v.at;
    uint64_t n;
    s += text_starts(s, "0x") || text_starts(s, "0X") ? 2 : 0;
    if (value_is(v, "no"))
        *out = -1;
    else if (value_is(v, "block"))
        *out = FILL_OF_BLOCK;
    else if (text_parse_hex(&s, &n) && (size_t)(s - v.at) == v.length && n <= 255)
        *out = (int)n;
}

static void read_number(uint32_t *out, struct value v, uint32_t least, uint32_t most)
{
    const char *s = v.at;
    uint64_t n;
    if (text_parse_decimal(&s, &n) && (size_t)(s - v.at) == v.length && n >= least && n <= most)
        *out = (uint32_t)n;
}

/* Without this option the redzone is the slack of a slot. */
static void read_redzone(struct value v)
{
    uint32_t bytes = REDZONE_BYTES_MAX + 1;
    read_number(&bytes, v, 0, REDZONE_BYTES_MAX);
    if (bytes <= REDZONE_BYTES_MAX)
        redzone_width(bytes < REDZONE_BYTES_MIN ? REDZONE_BYTES_MIN : bytes);
}

static void set_guard(struct guard_options *out, uint32_t every, bool is_limited,
                      enum guard_edges edges)
{
    out->every = every;
    out->is_limited = is_limited;
    out->edges = edges;
}

/* One of N blocks, without a limit of time; or a word. */
static void read_guard(struct guard_options *out, struct value v)
{
    static const struct {
        const char *word;
        uint32_t every;
        bool is_limited;
        enum guard_edges edges;
    } words[] = {
        {"no", 0, false, GUARD_EDGES_BOTH},
        {"auto", GUARD_EVERY_AUTO, true, GUARD_EDGES_BOTH},
        {"all", GUARD_ALL, false, GUARD_EDGES_BOTH},
        {"end", GUARD_ALL, false, GUARD_EDGES_END},
        {"start", GUARD_ALL, false, GUARD_EDGES_START},
    };
    uint32_t every = 0;
    read_number(&every, v, 1, GUARD_EVERY_MAX);
    if (every)
        set_guard(out, every, false, GUARD_EDGES_BOTH);
    for (uint32_t i = 0; i < countof(words); i++)
        if (value_is(v, words[i].word))
            set_guard(out, words[i].every, words[i].is_limited, words[i].edges);
}

/* "KEY.EDGEGAP", as report_guard_text has it: 16 hexadecimal digits, b, e or s, a decimal number. */
static bool read_guard_stack(const char **text, struct guard_stack *out)
{
    static const char edges[] = {
        [GUARD_EDGES_BOTH] = 'b', [GUARD_EDGES_END] = 'e', [GUARD_EDGES_START] = 's'};
    const char *begin = *text;
    uint64_t gap;
    if (!text_parse_hex(text, &out->key) || *text - begin != 16 || *(*text)++ != '.')
        return false;
    uint32_t edge = 0;
    while (edge < countof(edges) && edges[edge] != **text)
        edge++;
    if (edge == countof(edges))
        return false;
    (*text)++;
    if (!text_parse_decimal(text, &gap) || gap > GUARD_GAP_ALIGNED)
        return false;
    out->edges = (enum guard_edges)edge;
    out->gap = (uint32_t)gap;
    return true;
}

static void read_guard_stacks(struct guard_stacks *out, struct value v)
{
    const char *s = v.at, *end = v.at + v.length;
    struct guard_stacks stacks = {0};
    while (s < end) {
        bool fits = stacks.count < GUARD_STACKS_MAX;
        if (!fits || !read_guard_stack(&s, &stacks.of[stacks.count]) || (s < end && *s++ != ','))
            return;
        stacks.count++;
    }
    *out = stacks;
}

/* valgrind's values are yes and no. */
static void read_error_limit(uint32_t *out, struct value v)
{
    if (value_is(v, "yes"))
        *out = ERROR_LIMIT_DEFAULT;
    else if (value_is(v, "no"))
        *out = ERROR_LIMIT_MAX;
    else
        read_number(out, v, 1, ERROR_LIMIT_MAX);
}

static void read_on_error(enum on_error *out, struct value v)
{
    static const char *const name[] = {[ON_ERROR_CONTINUE] = "continue",
                                       [ON_ERROR_STOP] = "stop",
                                       [ON_ERROR_ABORT] = "abort",
                                       [ON_ERROR_DEBUGGER] = "debugger",
                                       [ON_ERROR_EXIT] = "exit"};
    for (uint32_t i = 0; i < countof(name); i++)
        if (value_is(v, name[i]))
            *out = (enum on_error)i;
}

/* full: a flag, too. */
static void read_access(struct options *o, struct value v)
{
    o->access_full = value_is(v, "full");
    if (o->access_full)
        o->access = true;
    else
        read_flag(&o->access, v);
}

static void read_track_fds(enum track_fds *out, struct value v)
{
    static const char *const name[] = {[TRACK_FDS_NO] = "no",
                                       [TRACK_FDS_BAD] = "bad",
                                       [TRACK_FDS_YES] = "yes",
                                       [TRACK_FDS_ALL] = "all"};
    for (uint32_t i = 0; i < countof(name); i++)
        if (value_is(v, name[i]))
            *out = (enum track_fds)i;
}

void options_read_pool_size(struct options *o, const char *text)
{
    struct value v = {.at = text, .length = text_length(text)};
    o->heap_bytes = 0; /* what is no size is too small */
    o->has_pool_size = true;
    read_size(&o->heap_bytes, v);
}

bool options_want_heap_in_file(const struct options *o)
{
    return o->heap_in_file || (o->has_pool_size && !o->has_heap);
}

static void read_heap(struct options *o, struct value v)
{
    bool in_file = value_is(v, "file");
    if (!in_file && !value_is(v, "private"))
        return;
    o->heap_in_file = in_file;
    o->has_heap = true;
}

static void read_fork(enum fork_heap *out, struct value v)
{
    static const char *const name[] = {"shared", "private", "copy", "auto"};
    static const char *const number[] = {"0", "1", "2", "3"}; /* as libvmmalloc has them */
    for (uint32_t i = 0; i < countof(name); i++)
        if (value_is(v, name[i]) || value_is(v, number[i]))
            *out = (enum fork_heap)i;
}

/* Clear *out for the word `no`, set it for one of `others`. */
static void read_unless(bool *out, struct value v, const char *no, const char *const others[])
{
    *out = *out && !value_is(v, no);
    for (; *others; others++)
        *out = *out || value_is(v, *others);
}

/* A value that does not fit is treated as empty: half a path would be another path. */
static void read_text(char *out, size_t room, struct value v)
{
    if (v.length >= room)
        v.length = 0;
    struct text t = text_begin(out, room);
    text_put_n(&t, v.at, v.length);
    text_end(&t);
}

static const char *const leak_checks[] = {"summary", "table", "yes", "full", NULL};
static const char *const at_exits[] = {"on", "verbose", NULL};

static void read_one(struct options *o, const char *key, size_t n, struct value v)
{
    if (key_is(key, n, "trace-children"))
        read_flag(&o->trace_children, v);
    else if (key_is(key, n, "leaks"))
        read_flag(&o->leaks, v);
    else if (key_is(key, n, "strict-interior"))
        read_flag(&o->strict_interior, v);
    else if (key_is(key, n, "run-libc-freeres"))
        read_flag(&o->run_libc_freeres, v);
    else if (key_is(key, n, "run-cxx-freeres"))
        read_flag(&o->run_cxx_freeres, v);
    else if (key_is(key, n, "witness"))
        read_flag(&o->witness, v);
    else if (key_is(key, n, "access"))
        read_access(o, v);
    else if (key_is(key, n, "keep"))
        read_flag(&o->keep, v);
    else if (v.none)
        return;
    else if (key_is(key, n, "leak-check"))
        read_unless(&o->leak_check, v, "no", leak_checks);
    else if (key_is(key, n, "rtc-mel-at-exit"))
        read_unless(&o->mel_at_exit, v, "off", at_exits);
    else if (key_is(key, n, "pool-dir"))
        read_text(o->pool_dir, sizeof o->pool_dir, v);
    else if (key_is(key, n, "plans"))
        read_text(o->plans, sizeof o->plans, v);
    else if (key_is(key, n, "trace-children-skip"))
        read_text(o->skip, sizeof o->skip, v);
    else if (key_is(key, n, "heap"))
        read_heap(o, v);
    else if (key_is(key, n, "events"))
        o->all_events = value_is(v, "all") || (o->all_events && !value_is(v, "calls"));
    else if (key_is(key, n, "pool-size"))
        o->has_pool_size |= read_size(&o->heap_bytes, v);
    else if (key_is(key, n, "fork"))
        read_fork(&o->fork, v);
    else if (key_is(key, n, "freelist-vol"))
        read_size(&pool_knobs.quarantine_bytes, v);
    else if (key_is(key, n, "redzone-size"))
        read_redzone(v);
    else if (key_is(key, n, "frames"))
        read_number(&o->frames, v, 0, RTC_STACK_FRAMES);
    else if (key_is(key, n, "cost-every"))
        read_number(&o->cost_every, v, 0, 1000000);
    else if (key_is(key, n, "access-every"))
        read_number(&o->access_every, v, 0, 1000000);
    else if (key_is(key, n, "guard"))
        read_guard(&o->guard, v);
    else if (key_is(key, n, "guard-stacks"))
        read_guard_stacks(&o->guard.stacks, v);
    else if (key_is(key, n, "error-limit"))
        read_error_limit(&o->error_limit, v);
    else if (key_is(key, n, "on-error"))
        read_on_error(&o->on_error, v);
    else if (key_is(key, n, "track-fds"))
        read_track_fds(&o->track_fds, v);
    else if (key_is(key, n, "error-exitcode"))
        read_byte(&o->error_exitcode, v);
    else if (key_is(key, n, "malloc-fill"))
        read_fill(&pool_knobs.malloc_fill, v);
    else if (key_is(key, n, "free-fill"))
        read_fill(&pool_knobs.free_fill, v);
}

/*
 * A value ends at a separator, and a quoted one at the closing quote. The launcher quotes where
 * necessary.
 */
static const char *take_value(const char *text, struct value *v)
{
    char quote = '\0';
    if (*text == '\'' || *text == '"')
        quote = *text++;
    v->at = text;
    while (*text && (quote ? *text != quote : !is_separator(*text)))
        text++;
    v->length = (size_t)(text - v->at);
    return text + (quote && *text);
}

void options_read(struct options *o, const char *text)
{
    while (*text) {
        while (is_separator(*text))
            text++;
        const char *key = text;
        while (*text && *text != '=' && !is_separator(*text))
            text++;
        size_t n = (size_t)(text - key);
        struct value v = {text, 0, *text != '='};
        if (!v.none)
            text = take_value(text + 1, &v);
        if (n)
            read_one(o, key, n, v);
    }
}
