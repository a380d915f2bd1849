/*
 * frames.c - `frames OBJECT PLAN`: does the unwinder find the same rules in the copy as in the original?
 *
 * libdw reads both: the .eh_frame of the object, and that of the plan by its search table.  At the first
 * and the last byte of each instruction's copy, the rules of the CFA and of all registers must be those of
 * the original instruction.
 *
 * rtc-build: plan -O1 -ldw -lelf
 */
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "plan_view.h"

#define REGISTERS 17 /* those of DWARF: with the return address */

static struct plan_view plan;
static const struct plan_header *h;
static uint32_t original, copy; /* what is compared */

static void must(int is_right, const char *what)
{
    if (is_right)
        return;
    printf("original %x, copy %x: %s\n", original, copy, what);
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

/* An object in memory with nothing but the frame descriptions of the plan. */
static Elf *elf_of_plan(void)
{
    struct made {
        Elf64_Ehdr eh;
        Elf64_Phdr ph[2];
        char content[];
    } *made = calloc(1, sizeof *made + h->unwind.count);
    Elf64_Phdr ph = {.p_type = PT_LOAD,
                     .p_offset = sizeof *made,
                     .p_vaddr = plan_unwind_at(h),
                     .p_filesz = h->unwind.count,
                     .p_memsz = h->unwind.count};

    made->eh = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                            .e_type = ET_DYN,
                            .e_machine = EM_X86_64,
                            .e_version = EV_CURRENT,
                            .e_phoff = sizeof made->eh,
                            .e_ehsize = sizeof made->eh,
                            .e_phentsize = sizeof ph,
                            .e_phnum = 2};
    made->ph[0] = made->ph[1] = ph;
    made->ph[1].p_type = PT_GNU_EH_FRAME;
    memcpy(made->content, plan.unwind, h->unwind.count);
    return elf_memory((char *)made, sizeof *made + h->unwind.count);
}

static Dwarf_Frame *frame_at(Dwarf_CFI *cfi, uint64_t address, const char *which)
{
    Dwarf_Frame *frame;

    must(dwarf_cfi_addrframe(cfi, address, &frame) == 0, which);
    return frame;
}

static int are_same(int got_a, const Dwarf_Op *a, size_t a_count, int got_b, const Dwarf_Op *b,
                    size_t b_count)
{
    if (got_a != got_b || a_count != b_count || !a != !b)
        return 0;
    for (size_t n = 0; n < a_count; n++)
        if (a[n].atom != b[n].atom || a[n].number != b[n].number || a[n].number2 != b[n].number2)
            return 0;
    return 1;
}

static void compare(Dwarf_Frame *a, Dwarf_Frame *b)
{
    Dwarf_Op a_room[3], b_room[3], *a_ops = NULL, *b_ops = NULL;
    size_t a_count = 0, b_count = 0;
    bool a_signal, b_signal;

    must(dwarf_frame_info(a, NULL, NULL, &a_signal) == dwarf_frame_info(b, NULL, NULL, &b_signal) &&
             a_signal == b_signal,
         "another return address");
    int got_a = dwarf_frame_cfa(a, &a_ops, &a_count), got_b = dwarf_frame_cfa(b, &b_ops, &b_count);
    must(got_a == 0 && are_same(got_a, a_ops, a_count, got_b, b_ops, b_count), "another CFA");
    for (int r = 0; r < REGISTERS; r++) {
        got_a = dwarf_frame_register(a, r, a_room, &a_ops, &a_count);
        got_b = dwarf_frame_register(b, r, b_room, &b_ops, &b_count);
        must(are_same(got_a, a_ops, a_count, got_b, b_ops, b_count), "another rule of a register");
    }
}

/* Blocks may contain several functions, so each instruction is looked up. */
static void compare_step(Dwarf_CFI *cfi, Dwarf_CFI *cfi_of_copy, const struct plan_step *step)
{
    Dwarf_Frame *a = frame_at(cfi, h->text_address + original, "no description of the original");

    for (int last = 0; last < 2; last++) {
        Dwarf_Frame *b = frame_at(cfi_of_copy, copy + (last ? step->copy - 1u : 0),
                                  "no description of the copy");
        compare(a, b);
        free(b);
    }
    free(a);
}

int main(int argc, char **argv)
{
    uint64_t bytes, steps = 0;
    void *file = mapped(argv[argc - 1], &bytes);
    const char *wrong = plan_verify(&plan, file, bytes);

    must(argc == 3 && !wrong, wrong ? wrong : "frames OBJECT PLAN");
    h = plan.header;
    if (h->statistics.instructions == 0)
        return 0;
    elf_version(EV_CURRENT);
    Dwarf_CFI *cfi = dwarf_getcfi_elf(elf_begin(open(argv[1], O_RDONLY), ELF_C_READ_MMAP, NULL)),
              *cfi_of_copy = dwarf_getcfi_elf(elf_of_plan());
    must(cfi && cfi_of_copy, "no frame descriptions");
    for (const struct plan_block *b = plan.blocks; b < plan.blocks + h->blocks.count; b++) {
        copy = b->copy;
        original = b->original;
        for (uint32_t n = 0; n < b->count; n++, steps++) {
            const struct plan_step *step = &plan.steps[b->first + n];
            compare_step(cfi, cfi_of_copy, step);
            copy += step->copy;
            original += step->original;
        }
    }
    must(steps == h->statistics.instructions, "the number of instructions");
    printf("%llu instructions, %u functions\n", (unsigned long long)steps,
           ((const struct plan_unwind_header *)(const void *)plan.unwind)->count);
    return 0;
}
