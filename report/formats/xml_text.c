/*
 * xml_text.c - text in XML: escapes, and replacement of characters that XML does not have.
 */
#include <string.h>

#include "formats_priv.h"

/*
 * XML has no control characters but tab and line ends, and neither U+FFFE nor U+FFFF, not even
 * escaped.
 */
static bool is_xml(uint32_t code)
{
    return code >= 0x20 ? code != 0xfffe && code != 0xffff
                        : code == '\t' || code == '\n' || code == '\r';
}

/*
 * Write `text` escaped; characters that XML cannot represent become U+FFFD. Control characters in
 * `plain` are written unescaped. In an attribute an unescaped line end would be read as a space.
 */
void xml_put(FILE *out, const char *text, const char *plain)
{
    while (*text) {
        unsigned bytes = utf8_length(text);
        uint32_t code = bytes ? utf8_code(text, bytes) : 0;
        if (!bytes || !is_xml(code))
            fputs("\xef\xbf\xbd", out);
        else if (strchr("&<>\"", *text) || (!is_printable(text, bytes) && !strchr(plain, *text)))
            fprintf(out, "&#%u;", code);
        else
            fwrite(text, 1, bytes, out);
        text += bytes ? bytes : 1;
    }
}
