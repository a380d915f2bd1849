/* iconv loads and unloads libraries by libc's internal functions; their constructors allocate. */
#include "deep.h"

#include <iconv.h>
#include <string.h>

static unsigned converted;

static void convert(void *name)
{
    char out[64], in[] = "text", *from = in, *to = out;
    size_t left = sizeof in, room = sizeof out;
    iconv_t way = iconv_open(name, "UTF-8");
    if (way == (iconv_t)-1)
        return;
    churn(1);
    converted += iconv(way, &from, &left, &to, &room) != (size_t)-1;
    churn(1);
    iconv_close(way);
}

int main(void)
{
    static const char *const names[] = {"UTF-16",      "UTF-32", "UTF-7",  "ISO-2022-JP",
                                        "ISO-2022-KR", "IBM037", "KOI8-R", "ISO-8859-15"};
    churn(1);
    for (unsigned i = 0; i < 200; i++)
        dive(3 + i % 3, convert, (void *)names[i * 5 % 8]);
    printf("charsets: %s\n", converted ? "converted" : "no converters here");
    return 0;
}
