/*
 * variables.c - find the variable that contains an address, and the element or member, by libdwarf.
 *
 *   dwarf_die.c       entries of debugging information
 *   dwarf_type.c      from a variable's type down to the element or member at the address
 *   dwarf_list.c      variables with a fixed address
 *   dwarf_variable.c  the data of one variable
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarf_priv.h"

static void take(const struct variables *v, Dwarf_Die die, const char *scope, uint64_t inside,
                 struct variable *out)
{
    struct name name = {""};

    out->offset = out->in_whole = inside;
    variable_take(v, die, scope, &name, out, 0);
    out->whole = xalloc(strdup(name.text));
    variable_take_path(v, die, &out->offset, &name);
    out->name = xalloc(strdup(name.text));
}

/* Find the variable in one of the lists of `v`. */
static bool find(struct variables *v, const struct entries *entries, uint64_t address,
                 struct variable *out)
{
    const struct entry *entry;
    Dwarf_Die die;

    if (!v->listed)
        entries_list(v, false);
    entry = entries_find(entries, address);
    if (!entry && !v->all) {
        entries_list(v, true);
        entry = entries_find(entries, address);
    }
    die = entry ? die_at(v, entry->die, true) : NULL;
    if (!die)
        return false;
    take(v, die, entry->scope, address - entry->start, out);
    dwarf_dealloc_die(die);
    return true;
}

bool variables_find(struct variables *v, uint64_t address, struct variable *out)
{
    return find(v, &v->fixed, address, out);
}

bool variables_find_in_thread(struct variables *v, uint64_t offset, struct variable *out)
{
    return find(v, &v->of_thread, offset, out);
}

bool variables_at(struct variables *v, uint64_t at, uint64_t inside, struct variable *out)
{
    Dwarf_Die die = die_at(v, at, true);
    bool good = die && inside < variable_bytes(v, die, 0);

    if (good) {
        take(v, die, NULL, inside, out);
        out->is_parameter = die_tag(die) == DW_TAG_formal_parameter;
        good = out->name[0] != '\0';
    }
    if (die)
        dwarf_dealloc_die(die);
    return good;
}

struct variables *variables_open(int fd)
{
    struct variables *v = xalloc(calloc(1, sizeof *v));
    Dwarf_Error error;

    v->fd = fd;
    if (dwarf_init_b(fd, DW_DLC_READ, DW_GROUPNUMBER_ANY, NULL, NULL, &v->dwarf, &error) ==
        DW_DLV_OK)
        return v;
    close(fd);
    free(v);
    return NULL;
}

void variables_close(struct variables *v)
{
    Dwarf_Error error;

    if (!v)
        return;
    entries_forget(v);
    dwarf_finish(v->dwarf, &error);
    close(v->fd);
    free(v);
}
