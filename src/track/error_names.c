/*
 * error_names.c - texts of error records, for a debugger and for the log in place of libvmmalloc.
 */
#include "track_priv.h"

#define UNKNOWN "?"

static const char *const codes[] = {
#define ERROR(id, value, class, code, title, titles, entry, help) [value] = code,
#include "format/findings.def"
#undef ERROR
#undef LEAK
};

static const char *const titles[] = {
#define ERROR(id, value, class, code, title, titles, entry, help) [value] = title,
#include "format/findings.def"
#undef ERROR
#undef LEAK
};

static const char *const entries[] = {
#define ENTRY(id, name) [ENTRY_##id] = name,
#include "format/entries.def"
#undef ENTRY
};

static const char *text_at(const char *const *texts, size_t count, uint32_t n)
{
    return n < count && texts[n] ? texts[n] : UNKNOWN;
}

const char *error_code(uint32_t kind)
{
    return text_at(codes, countof(codes), kind);
}

const char *error_title(uint32_t kind)
{
    return text_at(titles, countof(titles), kind);
}

const char *error_entry_name(uint32_t entry)
{
    return text_at(entries, countof(entries), entry);
}
