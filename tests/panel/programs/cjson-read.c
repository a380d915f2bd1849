/* A text that ends after a comma is parsed: it is a block of exactly its length. */
#include "cJSON.h"
#include <stdlib.h>
#include <string.h>

int main(void)
{
    static const char text[] = "{\"a\":1,";
    size_t length = strlen(text);
    char *block = memcpy(malloc(length), text, length);
    cJSON *object = cJSON_ParseWithLength(block, length);
    free(block);
    return object != NULL;
}
