/*
 * Two libraries take turns in one place, COUNT times.
 *
 *     reload COUNT LIBRARY ANOTHER
 */
#include <dlfcn.h>
#include <stdlib.h>

typedef void dropper(size_t bytes);

static int use(const char *path, const char *name)
{
    void *library = dlopen(path, RTLD_NOW);
    dropper *drops = library ? (dropper *)dlsym(library, name) : NULL;
    if (!drops)
        return 1;
    drops(100);
    dlclose(library);
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long count = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
    int failed = count == 0;
    while (count--)
        failed |= use(argv[2], "one_drops") | use(argv[3], "two_drops");
    return failed;
}
