/* rua.c - bad reads: a message that claims more bytes than it has, and a name that was freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct message {
    size_t claimed;
    char *text;
};

static void receive(const struct message *m, char *to)
{
    memcpy(to, m->text, m->claimed);
}

static size_t name_length(const char *name)
{
    return strlen(name);
}

int main(void)
{
    char buffer[64], *name = malloc(24);
    struct message m = {40, malloc(32)};
    if (!m.text || !name)
        return 1;
    strcpy(name, "a name that is freed");
    memset(m.text, 0, 32);
    receive(&m, buffer);
    free(m.text);
    free(name);
    printf("%zu\n", name_length(name));
    return 0;
}
