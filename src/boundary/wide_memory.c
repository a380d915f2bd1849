/*
 * wide_memory.c - wmem* functions: as memory.c, of wide characters. C++'s std::wstring calls them.
 */
#include "copies.h"

COPY(wmemcpy, WMEMCPY, wchar_t, bytes_of_wide);
COPY(wmempcpy, WMEMPCPY, wchar_t, bytes_of_wide);
MOVE(wmemmove, WMEMMOVE, wchar_t, bytes_of_wide);
FILL(wmemset, WMEMSET, wchar_t, wchar_t, bytes_of_wide);
COMPARISON(wmemcmp, WMEMCMP, wchar_t, sizeof(wchar_t), bytes_of_wide);
COPY_CHK(__wmemcpy_chk, WMEMCPY, wchar_t, false, bytes_of_wide);
COPY_CHK(__wmempcpy_chk, WMEMPCPY, wchar_t, false, bytes_of_wide);
COPY_CHK(__wmemmove_chk, WMEMMOVE, wchar_t, true, bytes_of_wide);
FILL_CHK(__wmemset_chk, WMEMSET, wchar_t, wchar_t, bytes_of_wide);

static NOINLINE wchar_t *searched_wmemchr(const wchar_t *in, const wchar_t *end, size_t n)
{
    READS(in, bytes_of_wide(end ? (size_t)(end - in) + 1 : n), WMEMCHR);
    return (wchar_t *)(uintptr_t)end;
}

EXPORT wchar_t *wmemchr(const wchar_t *in, wchar_t c, size_t n)
{
    if (!is_in_heap(in) || !access_is_on)
        return NEXT_OF(wmemchr)(in, c, n);
    return searched_wmemchr(in, NEXT_OF(wmemchr)(in, c, n), n);
}
