/*
 * test_loader.c - objects around addresses, compared with dl_iterate_phdr: with libc's
 * _dl_find_object and without it, and the notification of an unloaded object.
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "init.h"
#include "../run_here.h"

#include <cmocka.h>

#define LIBRARY "libBrokenLocale.so.1" /* a library of glibc that no program needs */

static void start(const char *without)
{
    char *envp[] = {(char[64]){""}, NULL};
    snprintf(envp[0], 64, "RTCHECK_TEST_WITHOUT=%s", without);
    os_start(envp);
    loader_start();
}

/* ---- every object ---------------------------------------------------------------------------- */

static uint32_t objects, wrong;

static bool is_right(const struct dl_phdr_info *info, const struct object *o, uintptr_t at)
{
    uintptr_t index = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            index = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    return o->bias == info->dlpi_addr && (uintptr_t)o->index == index && o->start <= at &&
           at < o->end && o->handle && strcmp(o->path, info->dlpi_name) == 0;
}

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + ph->p_vaddr,
                  at[] = {from, from + ph->p_memsz / 2, from + ph->p_memsz - 1};
        struct object o;
        for (unsigned k = 0; k < 3 && ph->p_type == PT_LOAD && ph->p_flags & PF_X; k++)
            wrong += !loader_find(at[k], &o) || !is_right(info, &o, at[k]);
        objects += ph->p_type == PT_LOAD && ph->p_flags & PF_X;
    }
    return 0;
}

static void all_are_found(void)
{
    objects = wrong = 0;
    dl_iterate_phdr(look, NULL);
    MUST(objects >= 4 && wrong == 0);
}

static void nothing_else_is(void)
{
    struct object o;
    int here;
    char *heap = malloc(10);
    MUST(!loader_find((uintptr_t)&here, &o) && !loader_find((uintptr_t)heap, &o));
    MUST(!loader_find(0, &o) && !loader_find(UINTPTR_MAX, &o) && !loader_find(4096, &o));
    free(heap);
}

static void with_find_object(void)
{
    start("");
    MUST(os_has(OS_FIND_OBJECT));
    all_are_found(); /* before any constructor of the test */
    nothing_else_is();
    loader_constructed();
    all_are_found();
    MUST(os_has(OS_FIND_OBJECT));
}

static void without_find_object(void)
{
    struct object o;
    start("find_object");
    MUST(!loader_find((uintptr_t)start, &o));
    loader_constructed();
    MUST(!os_has(OS_FIND_OBJECT));
    all_are_found();
    nothing_else_is();
    void *library = dlopen(LIBRARY, RTLD_NOW);
    MUST(library && !loader_find(((struct link_map *)library)->l_addr, &o)); /* documented */
}

/* ---- the loader itself ----------------------------------------------------------------------- */

static int is_in_loader(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    for (unsigned i = 0; strstr(info->dlpi_name, "/ld-linux") && i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_flags & PF_X && info->dlpi_phdr[i].p_type == PT_LOAD)
            *(bool *)found = loader_range.start == info->dlpi_addr + info->dlpi_phdr[i].p_vaddr &&
                             loader_range.bytes == info->dlpi_phdr[i].p_memsz;
    return 0;
}

static void its_own_code(void)
{
    bool found = false;
    start("");
    dl_iterate_phdr(is_in_loader, &found);
    MUST(found);
    struct entry at = {.pc = loader_range.start};
    MUST(loader_called(&at));
    at.pc = loader_range.start + loader_range.bytes - 1;
    MUST(loader_called(&at));
    at.pc++;
    MUST(!loader_called(&at));
    at.pc = loader_range.start - 1;
    MUST(!loader_called(&at));
    at.pc = (uintptr_t)its_own_code;
    MUST(!loader_called(&at));
}

/* ---- loading and unloading ------------------------------------------------------------------- */

static void unloading(void)
{
    struct object o;
    run_here();
    start("");
    stack_start();
    loader_constructed();
    struct link_map *map = dlopen(LIBRARY, RTLD_NOW);
    MUST(map && loader_find((uintptr_t)map->l_ld, &o) && o.handle == map);
    uint32_t number = modules_number(&o, true);
    MUST(number);
    loader_frees(&o); /* frees of other objects */
    MUST(modules_number(&o, false) == number);
    loader_frees(map);
    MUST(modules_number(&o, false) == 0);
    MUST(dlclose(map) == 0 && !loader_find(o.start, &o));
}

IN_CHILD(with_find_object)
IN_CHILD(without_find_object)
IN_CHILD(its_own_code)
IN_CHILD(unloading)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_with_find_object),
        cmocka_unit_test(test_without_find_object),
        cmocka_unit_test(test_its_own_code),
        cmocka_unit_test(test_unloading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
