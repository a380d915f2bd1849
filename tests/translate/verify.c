/*
 * verify.c - `verify [OBJECT] PLAN`: is the plan valid?  Does the copy have the same instructions as
 * the original?
 *
 * Both are decoded again.  Of each instruction, the copy has its check if it has a site, in the form
 * of check_code.c, and then the same instruction: equal operands, the same addresses, branches to
 * the copy of the same target, or to the original of one that is native.
 *
 * The check may also be that of an instruction before, if it has compared these bytes, and since then
 * there was no label, no branch, no other check, and no write of the address's registers, rsp or rbp.
 *
 * rtc-build: plan -O1 -lZydis
 */
#include <Zydis/Zydis.h>
#include <fcntl.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "plan_view.h"

struct one {
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
};

static struct plan_view plan;
static const struct plan_header *h;
static uint8_t *text;
static ZydisDecoder decoder;
static uint8_t *is_label;
static struct {
    ZydisRegister base, index;
    int64_t first, end; /* displacements; first = end: nothing is known */
    unsigned scale;
} checked;
static uint32_t *site_of, original,
    at; /* the instruction that is verified, and the position in the copy */

static void must(int is_right, const char *what)
{
    if (is_right)
        return;
    printf("original %x, copy %x: %s\n", original, at, what);
    exit(1);
}

static void *mapped(const char *path, uint64_t *bytes)
{
    int fd = open(path, O_RDONLY);
    struct stat st;

    must(fd >= 0 && fstat(fd, &st) == 0, path);
    *bytes = (uint64_t)st.st_size;
    return mmap(NULL, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
}

static void read_text(const char *path)
{
    uint64_t bytes;
    char *file = mapped(path, &bytes);
    Elf64_Ehdr *eh = (void *)file;
    Elf64_Phdr *ph = (void *)(file + eh->e_phoff);

    text = calloc(1, h->text_bytes + 16);
    for (unsigned n = 0; n < eh->e_phnum; n++)
        if (ph[n].p_type == PT_LOAD && (ph[n].p_flags & PF_X))
            memcpy(text + (ph[n].p_vaddr - h->text_address), file + ph[n].p_offset, ph[n].p_filesz);
}

static void decode(struct one *i, const uint8_t *code, uint64_t most)
{
    must(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, most, &i->z, i->o)), "no instruction");
}

/* The next of the copy. */
static struct one next(void)
{
    struct one i;

    decode(&i, plan.copy + at, h->copy.count - at);
    at += i.z.length;
    return i;
}

static int is_fs(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.segment == ZYDIS_REGISTER_FS &&
           o->mem.disp.value >= h->spill && o->mem.disp.value < h->spill + (int)PLAN_SPILL_BYTES &&
           o->mem.base == ZYDIS_REGISTER_NONE && o->mem.index == ZYDIS_REGISTER_NONE;
}

static int next_is(ZydisMnemonic mnemonic)
{
    uint32_t before = at;
    struct one i = next();

    if (i.z.mnemonic == mnemonic)
        return 1;
    at = before;
    return 0;
}

/* mov between this register and a word of the thread? */
static int next_is_fs(int to_register, ZydisRegister r)
{
    uint32_t before = at;
    struct one i = next();

    if (i.z.mnemonic == ZYDIS_MNEMONIC_MOV && is_fs(&i.o[to_register]) &&
        i.o[!to_register].reg.value == r)
        return 1;
    at = before;
    return 0;
}

static int64_t displacement(const ZydisDecodedOperand *o)
{
    return o->mem.disp.has_displacement ? o->mem.disp.value : 0;
}

/* The register that gets the address of the operand, with perhaps another displacement: *more. */
static ZydisRegister verify_address(const ZydisDecodedOperand *want, int64_t *more)
{
    struct one i = next();

    *more = 0;
    if (i.z.mnemonic == ZYDIS_MNEMONIC_MOV && is_fs(&i.o[0]))
        i = next();
    if (i.z.mnemonic == ZYDIS_MNEMONIC_MOV) {
        must(i.o[1].reg.value == want->mem.base && want->mem.index == ZYDIS_REGISTER_NONE,
             "another address");
    } else {
        must(i.z.mnemonic == ZYDIS_MNEMONIC_LEA, "no lea");
        must(i.o[1].mem.base == want->mem.base && i.o[1].mem.index == want->mem.index &&
                 (i.o[1].mem.scale == want->mem.scale || want->mem.index == ZYDIS_REGISTER_NONE),
             "another address");
        *more = displacement(&i.o[1]);
    }
    must(i.o[0].reg.value != want->mem.base && i.o[0].reg.value != want->mem.index, "no register");
    return i.o[0].reg.value;
}

/* The shadow bytes that are compared, from the first on without a gap. */
static unsigned verify_comparisons(void)
{
    unsigned window = 0;

    for (;;) {
        uint32_t before = at;
        struct one i = next();
        if (i.z.mnemonic != ZYDIS_MNEMONIC_CMP || i.o[0].type != ZYDIS_OPERAND_TYPE_MEMORY ||
            displacement(&i.o[0]) != PLAN_SHADOW + (int64_t)window) {
            at = before;
            must(window > 0, "no comparison");
            return window;
        }
        window += i.o[0].size / 8;
        must(next_is(ZYDIS_MNEMONIC_JNZ), "no comparison");
    }
}

/* Of an address that is aligned by the mask, or one byte. */
static void note_checked(const ZydisDecodedOperand *o, int64_t first, int64_t mask, unsigned window)
{
    checked.base = o->mem.base;
    checked.index = o->mem.index;
    checked.scale = o->mem.scale;
    checked.first = first;
    checked.end = first + (mask == 7 ? 8 * window : mask + 1);
    must(mask == 0 || mask == 1 || mask == 3 || mask == 7, "another mask");
}

static void verify_covered(const ZydisDecodedOperand *o)
{
    must(checked.base == o->mem.base && checked.index == o->mem.index &&
             (checked.scale == o->mem.scale || o->mem.index == ZYDIS_REGISTER_NONE) &&
             displacement(o) >= checked.first && displacement(o) + o->size / 8 <= checked.end,
         "not checked");
}

/* What is known after an instruction. */
static void forget(const struct one *i)
{
    for (unsigned n = 0; n < i->z.operand_count; n++) {
        const ZydisDecodedOperand *o = &i->o[n];
        ZydisRegister r =
            o->type == ZYDIS_OPERAND_TYPE_REGISTER
                ? ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value)
                : ZYDIS_REGISTER_NONE;
        if ((o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) && r != ZYDIS_REGISTER_NONE &&
            (r == checked.base || r == checked.index || r == ZYDIS_REGISTER_RSP ||
             r == ZYDIS_REGISTER_RBP || r == ZYDIS_REGISTER_RIP))
            checked.first = checked.end = 0;
    }
    if (i->z.mnemonic == ZYDIS_MNEMONIC_DIV || i->z.mnemonic == ZYDIS_MNEMONIC_IDIV)
        checked.first = checked.end = 0;
}

/* Does the copy of an access begin with a check? Such an access is no lea, and none of registers. */
static int begins_with_check(void)
{
    uint32_t before = at;
    struct one i = next();

    at = before;
    return i.z.mnemonic == ZYDIS_MNEMONIC_LEA ||
           (i.z.mnemonic == ZYDIS_MNEMONIC_MOV &&
            (is_fs(&i.o[0]) || (i.o[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
                                i.o[1].type == ZYDIS_OPERAND_TYPE_REGISTER)));
}

/* The check of one access, and nothing but it. */
static void verify_own_check(const ZydisDecodedOperand *o)
{
    int64_t first, mask = 0;
    int saves;
    ZydisRegister r = verify_address(o, &first);
    int saves_rax = next_is_fs(0, ZYDIS_REGISTER_RAX);
    saves = next_is(ZYDIS_MNEMONIC_LAHF);
    must(!saves || (next_is(ZYDIS_MNEMONIC_SETO) && r != ZYDIS_REGISTER_RAX), "flags");
    if (next_is(ZYDIS_MNEMONIC_TEST)) {
        mask = plan.copy[at - 1];
        must(next_is(ZYDIS_MNEMONIC_JNZ), "no jump");
    }
    must(next_is(ZYDIS_MNEMONIC_SHR), "no comparison");
    note_checked(o, first, mask, verify_comparisons());
    verify_covered(o);
    if (saves)
        must(next_is(ZYDIS_MNEMONIC_ADD) && next_is(ZYDIS_MNEMONIC_SAHF), "flags are lost");
    if (saves_rax)
        must(next_is_fs(1, ZYDIS_REGISTER_RAX), "rax is lost");
    next_is_fs(1, r);
}

static void verify_check(const struct one *i)
{
    const ZydisDecodedOperand *o = NULL;

    for (unsigned n = 0; n < i->z.operand_count_visible; n++)
        if (i->o[n].type == ZYDIS_OPERAND_TYPE_MEMORY)
            o = &i->o[n];
    must(o != NULL, "a check of no access");
    must(plan.sites[site_of[original] - 1].bytes == o->size / 8, "another size");
    if (begins_with_check())
        verify_own_check(o);
    else
        verify_covered(o);
}

/* ---- string instructions --------------------------------------------------------------------- */

/* One of its operands in memory; `is_last`: of rcx elements. */
static ZydisDecodedOperand element_of(const struct one *i, ZydisRegister base, int is_last)
{
    ZydisDecodedOperand o = {.type = ZYDIS_OPERAND_TYPE_MEMORY};

    for (unsigned n = 0; n < i->z.operand_count; n++)
        if (i->o[n].type == ZYDIS_OPERAND_TYPE_MEMORY && i->o[n].mem.base == base)
            o = i->o[n];
    must(o.size > 0, "a check of another register");
    if (is_last) {
        o.mem.index = ZYDIS_REGISTER_RCX;
        o.mem.scale = (uint8_t)(o.size / 8);
        o.mem.disp.has_displacement = true;
        o.mem.disp.value = -(o.size / 8);
    }
    return o;
}

/* The register and the kind of the next check, by its address. */
static ZydisDecodedOperand next_element(const struct one *string)
{
    uint32_t before = at;
    struct one i = next();

    if (i.z.mnemonic == ZYDIS_MNEMONIC_MOV && is_fs(&i.o[0]))
        i = next();
    at = before;
    if (i.z.mnemonic == ZYDIS_MNEMONIC_MOV)
        return element_of(string, i.o[1].reg.value, 0);
    return element_of(string, i.o[1].mem.base, i.o[1].mem.index == ZYDIS_REGISTER_RCX);
}

static int may_stop(const struct one *i)
{
    return (i->z.attributes & (ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
}

/* Each side is checked; a repeated instruction at its end, too, and not at all if rcx is 0. */
static void verify_string(const struct one *string)
{
    int is_repeated = next_is(ZYDIS_MNEMONIC_JRCXZ);
    uint32_t over = 0;
    unsigned checks = 0, of_last = 0, sides = 0;

    must(is_repeated == (may_stop(string) || string->z.attributes & ZYDIS_ATTRIB_HAS_REP),
         "repeated or not");
    if (is_repeated) {
        must(plan.copy[at - 1] == 2 && next_is(ZYDIS_MNEMONIC_JMP) && plan.copy[at - 1] == 5,
             "no jump over");
        struct one jump = next();
        must(jump.z.mnemonic == ZYDIS_MNEMONIC_JMP, "no jump");
        over = at + (uint32_t)jump.o[0].imm.value.s;
    }
    for (; begins_with_check(); checks++) {
        ZydisDecodedOperand o = next_element(string);
        of_last += o.mem.index == ZYDIS_REGISTER_RCX;
        verify_own_check(&o);
    }
    for (unsigned n = 0; n < string->z.operand_count; n++)
        sides += string->o[n].type == ZYDIS_OPERAND_TYPE_MEMORY;
    must(!is_repeated || at == over, "another end");
    must(is_repeated && !may_stop(string) ? of_last >= 1 && checks <= 2 * sides : checks == sides,
         "another number of checks");
    checked.first = checked.end = 0;
}

/* ---- the instruction ------------------------------------------------------------------------- */

/* Where code continues: nops between functions are left out. */
static int64_t continuation(int64_t offset)
{
    struct one i;

    for (int64_t to = offset; to >= 0 && to < (int64_t)h->text_bytes; to += i.z.length) {
        if (plan_copy_of(&plan, (uint32_t)to) != PLAN_NOWHERE)
            return to;
        decode(&i, text + to, h->text_bytes - (uint64_t)to);
        if (i.z.meta.category != ZYDIS_CATEGORY_NOP && i.z.meta.category != ZYDIS_CATEGORY_WIDENOP)
            break;
    }
    return offset;
}

/* Where a branch of the copy must lead: the copy of a target, or its original. */
static int64_t copy_of_target(int64_t target)
{
    target = continuation(target);
    uint32_t copy = target >= 0 && target < (int64_t)h->text_bytes
                        ? plan_copy_of(&plan, (uint32_t)target)
                        : PLAN_NOWHERE;
    return copy == PLAN_NOWHERE ? target - h->distance : copy;
}

static void verify_jump(const struct one *i, int64_t target)
{
    must((int64_t)at + i->o[0].imm.value.s == copy_of_target(target), "another target");
}

static void verify_operand(const struct one *want, const struct one *got, unsigned n)
{
    const ZydisDecodedOperand *a = &want->o[n], *b = &got->o[n];

    must(a->type == b->type && a->size == b->size, "another operand");
    if (a->type == ZYDIS_OPERAND_TYPE_REGISTER)
        must(a->reg.value == b->reg.value, "another register");
    if (a->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
        must(a->imm.value.u == b->imm.value.u, "another immediate");
    if (a->type != ZYDIS_OPERAND_TYPE_MEMORY)
        return;
    must(a->mem.base == b->mem.base && a->mem.index == b->mem.index &&
             a->mem.scale == b->mem.scale && a->mem.segment == b->mem.segment,
         "another address");
    if (a->mem.base == ZYDIS_REGISTER_RIP)
        must(original + want->z.length + a->mem.disp.value == h->distance + at + b->mem.disp.value,
             "another address relative to rip");
    else
        must(a->mem.disp.value == b->mem.disp.value, "another displacement");
}

static int is_by_count(ZydisMnemonic m)
{
    return m == ZYDIS_MNEMONIC_JRCXZ || m == ZYDIS_MNEMONIC_JECXZ || m == ZYDIS_MNEMONIC_LOOP ||
           m == ZYDIS_MNEMONIC_LOOPE || m == ZYDIS_MNEMONIC_LOOPNE;
}

static void verify_instruction(const struct one *want)
{
    int is_branch = want->o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && want->o[0].imm.is_relative;
    struct one got = next();

    must(got.z.mnemonic == want->z.mnemonic, "another instruction");
    must(got.z.operand_count == want->z.operand_count, "another number of operands");
    if (!is_branch) {
        for (unsigned n = 0; n < want->z.operand_count; n++)
            verify_operand(want, &got, n);
        return;
    }
    int64_t target = (int64_t)original + want->z.length + want->o[0].imm.value.s;
    if (is_by_count(want->z.mnemonic)) { /* over a jump to the target */
        must(got.o[0].imm.value.s == 2 && next_is(ZYDIS_MNEMONIC_JMP), "no jump over");
        got = next();
        must(got.z.mnemonic == ZYDIS_MNEMONIC_JMP, "no jump");
    }
    verify_jump(&got, target);
}

static void verify_step(const struct plan_step *step, uint32_t copy)
{
    struct one want;

    at = copy;
    decode(&want, text + original, step->original);
    must(want.z.length == step->original, "another length");
    if (is_label[original])
        checked.first = checked.end = 0;
    if (site_of[original] && want.z.meta.category == ZYDIS_CATEGORY_STRINGOP)
        verify_string(&want);
    else if (site_of[original])
        verify_check(&want);
    verify_instruction(&want);
    forget(&want);
    if (at < copy + step->copy) {
        struct one jump = next();
        must(jump.z.mnemonic == ZYDIS_MNEMONIC_JMP, "more code");
        verify_jump(&jump, original + step->original);
    }
    must(at == copy + step->copy, "another length of the copy");
    must(plan_copy_of(&plan, original) == copy, "the map to the copy");
    must(plan_original_of(&plan, copy) == original, "the map from the copy");
    must(plan_original_of(&plan, at - 1) == original, "the map from the copy's end");
}

static void note_label(int64_t offset)
{
    if (offset >= 0 && offset < (int64_t)h->text_bytes)
        is_label[offset] = 1;
}

/* Where a short jump leads, in bytes that nothing else reaches. */
static int64_t landing_of(const struct plan_patch *p)
{
    return p->bytes == 2 ? (int64_t)p->original + 2 + (int8_t)p->code[1] : -1;
}

/* Entries: patches, but the jumps that short ones lead to. */
static void find_entries(void)
{
    for (uint64_t n = 0; n < h->patches.count; n++)
        note_label(plan.patches[n].original);
    for (uint64_t n = 0; n < h->patches.count; n++)
        if (landing_of(&plan.patches[n]) >= 0)
            is_label[landing_of(&plan.patches[n])] = 0;
}

/* Entries, and targets of branches. */
static void find_labels(void)
{
    struct one i;

    is_label = calloc(h->text_bytes + 1, 1);
    find_entries();
    for (const struct plan_block *b = plan.blocks; b < plan.blocks + h->blocks.count; b++) {
        original = b->original;
        for (uint32_t n = 0; n < b->count; n++) {
            decode(&i, text + original, plan.steps[b->first + n].original);
            original += i.z.length;
            if (i.o[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && i.o[0].imm.is_relative)
                note_label((int64_t)original + i.o[0].imm.value.s);
        }
    }
}

int main(int argc, char **argv)
{
    uint64_t bytes, steps = 0;
    void *file = mapped(argv[argc - 1], &bytes);
    const char *wrong = plan_verify(&plan, file, bytes);

    must(!wrong, wrong);
    if (argc == 2)
        return 0;
    h = plan.header;
    read_text(argv[1]);
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    site_of = calloc(h->text_bytes, sizeof *site_of);
    for (uint32_t n = 0; n < h->sites.count; n++) {
        must(plan_site_at(&plan, plan.sites[n].cold) == &plan.sites[n], "a site is not found");
        site_of[plan.sites[n].original] = n + 1;
    }
    find_labels();
    for (const struct plan_block *b = plan.blocks; b < plan.blocks + h->blocks.count; b++) {
        uint32_t copy = b->copy;
        if (original != b->original) /* other code is between */
            checked.first = checked.end = 0;
        original = b->original;
        for (uint32_t n = 0; n < b->count; n++, steps++) {
            const struct plan_step *step = &plan.steps[b->first + n];
            verify_step(step, copy);
            copy += step->copy;
            original += step->original;
        }
    }
    must(steps == h->statistics.instructions, "the number of instructions");
    printf("%llu instructions, %llu checks\n", (unsigned long long)steps,
           (unsigned long long)h->sites.count);
    return 0;
}
