/*
 * variables.c - which variable an address lies in, and where in it, by libdwarf.
 *
 *   dwarf_die.c    entries of debugging information
 *   dwarf_type.c   from a variable's type down to the element or member that the address is in
 *   dwarf_list.c   variables that have one address for the whole run
 *   dwarf_words.c  what is said of one
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dwarf_priv.h"

bool variables_find(struct variables *v, uint64_t address, struct variable *out)
{
    const struct entry *entry;
    struct name name = {""};
    Dwarf_Die die;

    if (!v->listed)
        entries_list(v, false);
    entry = entries_find(v, address);
    if (!entry && !v->all) {
        entries_list(v, true);
        entry = entries_find(v, address);
    }
    die = entry ? die_at(v, entry->die, true) : NULL;
    if (!die)
        return false;
    out->offset = out->in_whole = address - entry->start;
    words_take(v, die, entry->scope, &name, out, 0);
    out->whole = must_have(strdup(name.text));
    words_take_path(v, die, &out->offset, &name);
    dwarf_dealloc_die(die);
    out->name = must_have(strdup(name.text));
    return true;
}

struct variables *variables_open(int fd)
{
    struct variables *v = must_have(calloc(1, sizeof *v));
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
