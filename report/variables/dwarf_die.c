/*
 * dwarf_die.c - DIEs (debugging information entries): attributes, and the DIEs that they refer to.
 *
 * Files are untrusted: a sibling must have a higher offset than the DIE before it, so every walk
 * ends.
 */
#include "dwarf_priv.h"

bool die_attribute(Dwarf_Die die, Dwarf_Half name, Dwarf_Attribute *out)
{
    Dwarf_Error error;
    return dwarf_attr(die, name, out, &error) == DW_DLV_OK;
}

bool die_has(Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Error error;
    Dwarf_Bool there;
    return dwarf_hasattr(die, name, &there, &error) == DW_DLV_OK && there;
}

Dwarf_Half die_tag(Dwarf_Die die)
{
    Dwarf_Error error;
    Dwarf_Half tag;
    return dwarf_tag(die, &tag, &error) == DW_DLV_OK ? tag : 0;
}

Dwarf_Off die_offset(Dwarf_Die die)
{
    Dwarf_Error error;
    Dwarf_Off offset;
    return dwarf_dieoffset(die, &offset, &error) == DW_DLV_OK ? offset : 0;
}

bool die_number(Dwarf_Die die, Dwarf_Half name, uint64_t *out)
{
    Dwarf_Unsigned u;
    Dwarf_Signed s = 0;
    Dwarf_Attribute a;
    Dwarf_Error error;
    bool good;

    if (!die_attribute(die, name, &a))
        return false;
    good = dwarf_formudata(a, &u, &error) == DW_DLV_OK;
    if (!good && dwarf_formsdata(a, &s, &error) == DW_DLV_OK && s >= 0) {
        u = (Dwarf_Unsigned)s;
        good = true;
    }
    dwarf_dealloc_attribute(a);
    if (good)
        *out = u;
    return good;
}

/* Return a string of the file; NULL: none. */
const char *die_text(Dwarf_Die die, Dwarf_Half name)
{
    Dwarf_Error error;
    char *text;
    return dwarf_die_text(die, name, &text, &error) == DW_DLV_OK ? text : NULL;
}

/* `is_info`: the offset is in .debug_info, else in .debug_types (DWARF 4). */
Dwarf_Die die_at(const struct variables *v, Dwarf_Off offset, bool is_info)
{
    Dwarf_Error error;
    Dwarf_Die die;
    return dwarf_offdie_b(v->dwarf, offset, is_info, &die, &error) == DW_DLV_OK ? die : NULL;
}

static Dwarf_Die by_signature(const struct variables *v, Dwarf_Attribute a)
{
    Dwarf_Error error;
    Dwarf_Bool is_info;
    Dwarf_Sig8 signature;
    Dwarf_Die die;

    if (dwarf_formsig8(a, &signature, &error) == DW_DLV_OK &&
        dwarf_find_die_given_sig8(v->dwarf, &signature, &die, &is_info, &error) == DW_DLV_OK)
        return die;
    return NULL;
}

/*
 * Return the DIE that an attribute refers to, freed by the caller; NULL: none, or one in another
 * file.
 */
Dwarf_Die die_linked(const struct variables *v, Dwarf_Die from, Dwarf_Half name)
{
    Dwarf_Half form = 0;
    Dwarf_Attribute a;
    Dwarf_Error error;
    Dwarf_Off offset;
    Dwarf_Die die = NULL;

    if (!die_attribute(from, name, &a))
        return NULL;
    if (dwarf_whatform(a, &form, &error) == DW_DLV_OK && form == DW_FORM_ref_sig8)
        die = by_signature(v, a);
    else if (form != DW_FORM_GNU_ref_alt && form != DW_FORM_ref_sup4 && form != DW_FORM_ref_sup8 &&
             dwarf_global_formref(a, &offset, &error) == DW_DLV_OK)
        die = die_at(v, offset, form == DW_FORM_ref_addr || dwarf_get_die_infotypes_flag(from));
    dwarf_dealloc_attribute(a);
    return die;
}

/* Return the next sibling and free this DIE; NULL: no more. */
Dwarf_Die die_sibling(const struct variables *v, Dwarf_Die die)
{
    Dwarf_Off before = die_offset(die);
    Dwarf_Error error;
    Dwarf_Die next;
    bool good = dwarf_siblingof_b(v->dwarf, die, dwarf_get_die_infotypes_flag(die), &next,
                                  &error) == DW_DLV_OK;

    dwarf_dealloc_die(die);
    if (good && die_offset(next) <= before) { /* a loop */
        dwarf_dealloc_die(next);
        good = false;
    }
    return good ? next : NULL;
}

Dwarf_Die die_child(Dwarf_Die die)
{
    Dwarf_Error error;
    Dwarf_Die child;
    return dwarf_child(die, &child, &error) == DW_DLV_OK ? child : NULL;
}

Dwarf_Die die_declaration(const struct variables *v, Dwarf_Die die)
{
    Dwarf_Die found = die_linked(v, die, DW_AT_specification);
    return found ? found : die_linked(v, die, DW_AT_abstract_origin);
}
