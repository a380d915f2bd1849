/*
 * test_names.c - names of addresses, compared with libdwfl's: in this program, whose symbols
 * overlap in all ways, and in ordinary libraries.
 *
 * rtc-build: -Wl,--wrap=dwfl_module_addrinfo
 */
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbols_priv.h"

#include <cmocka.h>

#define SAMPLE 250 /* symbols of one library: libdwfl is slow */

/* name, binding, first byte, bytes */
#define AT(name, binding, first, bytes)                                                        \
    "." binding " " #name "\n.type " #name ", @function\n.set " #name ", names_text + " #first \
    "\n.size " #name ", " #bytes "\n"
#define LOCAL(name, first, bytes)                                                       \
    ".type " #name ", @function\n.set " #name ", names_text + " #first "\n.size " #name \
    ", " #bytes "\n"

/* clang-format off */
__asm__(".pushsection .text.names, \"ax\", @progbits\n"
        "names_text: .skip 512, 0x90\n"
        ".type names_text, @function\n"
        AT(names_outer, "globl", 16, 200) AT(names_weak_in_it, "weak", 32, 32)
        AT(names_global_in_it, "globl", 80, 16) AT(names_weak_at_80, "weak", 80, 8)
        AT(names_short_at_80, "globl", 80, 4) AT(names_first_at_120, "weak", 120, 8)
        AT(names_second_at_120, "weak", 120, 8) AT(names_third_at_120, "globl", 120, 8)
        AT(names_long_at_140, "globl", 140, 12) AT(names_weak_long_at_140, "weak", 140, 20)
        LOCAL(names_local_in_it, 40, 8) LOCAL(names_local_after, 210, 30)
        LOCAL(names_local_in_local, 220, 8) LOCAL(names_local_same, 220, 8)
        LOCAL(names_label, 260, 0) LOCAL(names_label_same, 260, 0)
        AT(names_label_global, "globl", 270, 0) AT(names_label_weak, "weak", 270, 0)
        LOCAL(names_after_label, 300, 20) LOCAL(names_label_in_it, 310, 0)
        AT(names_label_before_local, "globl", 340, 0) LOCAL(names_local_at_label, 340, 20)
        AT(names_weak_after, "weak", 400, 40) AT(names_global_around, "globl", 390, 80)
        AT(names_weak_further, "weak", 404, 20)
        ".popsection\n");
/* clang-format on */

/* Number of calls in which libdwfl searches the whole table. */
static unsigned searches;

const char *__real_dwfl_module_addrinfo(Dwfl_Module *, GElf_Addr, GElf_Off *, GElf_Sym *,
                                        GElf_Word *, Elf **, Dwarf_Addr *);
const char *__wrap_dwfl_module_addrinfo(Dwfl_Module *, GElf_Addr, GElf_Off *, GElf_Sym *,
                                        GElf_Word *, Elf **, Dwarf_Addr *);

const char *__wrap_dwfl_module_addrinfo(Dwfl_Module *module, GElf_Addr address, GElf_Off *offset,
                                        GElf_Sym *symbol, GElf_Word *section, Elf **elf,
                                        Dwarf_Addr *bias)
{
    searches++;
    return __real_dwfl_module_addrinfo(module, address, offset, symbol, section, elf, bias);
}

struct table {
    Dwfl *dwfl;
    Dwfl_Module *module;
    struct names *names;
};

static const Dwfl_Callbacks callbacks = {
    .section_address = dwfl_offline_section_address,
    .find_debuginfo = dwfl_standard_find_debuginfo,
};

static bool table_open(struct table *m, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    *m = (struct table){.dwfl = dwfl_begin(&callbacks)};
    assert_non_null(m->dwfl);
    dwfl_report_begin(m->dwfl);
    m->module = fd < 0 ? NULL : dwfl_report_offline(m->dwfl, path, path, fd);
    dwfl_report_end(m->dwfl, NULL, NULL);
    return m->module && dwfl_module_getsymtab(m->module) > 0;
}

static void table_close(struct table *m)
{
    names_free(m->names);
    dwfl_end(m->dwfl);
}

static void same_at(struct table *m, GElf_Addr address)
{
    GElf_Off in, wanted_in;
    GElf_Sym symbol, wanted_symbol;
    const char *name = name_find(&m->names, m->module, address, &in, &symbol);
    const char *wanted =
        dwfl_module_addrinfo(m->module, address, &wanted_in, &wanted_symbol, NULL, NULL, NULL);

    if (!name != !wanted)
        fail_msg("%#lx: %s, not %s", (unsigned long)address, name ? name : "none",
                 wanted ? wanted : "none");
    if (!name)
        return;
    if (strcmp(name, wanted) != 0 || in != wanted_in)
        fail_msg("%#lx: %s+%#lx, not %s+%#lx", (unsigned long)address, name, (unsigned long)in,
                 wanted, (unsigned long)wanted_in);
    assert_memory_equal(&symbol, &wanted_symbol, sizeof symbol);
}

static void same_around(struct table *m, int index)
{
    GElf_Sym symbol;
    GElf_Addr at;

    if (!dwfl_module_getsym_info(m->module, index, &symbol, &at, NULL, NULL, NULL))
        return;
    same_at(m, at - 1);
    same_at(m, at);
    same_at(m, at + symbol.st_size / 2);
    same_at(m, at + symbol.st_size - 1);
    same_at(m, at + symbol.st_size);
    same_at(m, at + symbol.st_size + 5);
}

/* The address of names_text. */
static GElf_Addr text_of(struct table *m)
{
    int all = dwfl_module_getsymtab(m->module);

    for (int i = 1; i < all; i++) {
        GElf_Sym symbol;
        GElf_Addr at;
        const char *name = dwfl_module_getsym_info(m->module, i, &symbol, &at, NULL, NULL, NULL);
        if (name && strcmp(name, "names_text") == 0)
            return at;
    }
    fail_msg("there is no names_text");
    return 0;
}

static void test_upon_each_other(void **state)
{
    struct table m;
    GElf_Addr text;

    (void)state;
    assert_true(table_open(&m, "/proc/self/exe"));
    text = text_of(&m);
    for (GElf_Addr byte = 0; byte < 530; byte++)
        same_at(&m, text - 8 + byte);
    table_close(&m);
}

/* Addresses after names_label_global: libdwfl searches only for the first of them. */
static void test_after_a_label(void **state)
{
    GElf_Off offset;
    GElf_Sym symbol;
    struct table m;
    GElf_Addr text;

    (void)state;
    assert_true(table_open(&m, "/proc/self/exe"));
    text = text_of(&m);
    searches = 0;
    for (GElf_Addr byte = 299; byte > 270; byte--) {
        const char *name = name_find(&m.names, m.module, text + byte, &offset, &symbol);
        assert_non_null(name);
        assert_int_equal(strncmp(name, "names_label_", strlen("names_label_")), 0);
        assert_int_equal(offset, byte - 270);
    }
    assert_int_equal(searches, 1);
    for (GElf_Addr byte = 0; byte < 530; byte++) /* cached answers still equal libdwfl's */
        same_at(&m, text + 522 - byte);
    table_close(&m);
}

static int library(struct dl_phdr_info *info, size_t bytes, void *libraries)
{
    struct table m;

    (void)bytes;
    if (info->dlpi_name[0] == '/' && table_open(&m, info->dlpi_name)) {
        int all = dwfl_module_getsymtab(m.module), step = all / SAMPLE + 1;
        for (int i = 1; i < all; i += step)
            same_around(&m, i);
        same_at(&m, 0);
        same_at(&m, UINT64_MAX);
        table_close(&m);
        ++*(int *)libraries;
    }
    return 0;
}

static void test_libraries(void **state)
{
    int libraries = 0;

    (void)state;
    dl_iterate_phdr(library, &libraries);
    assert_true(libraries > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_upon_each_other),
        cmocka_unit_test(test_after_a_label),
        cmocka_unit_test(test_libraries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
