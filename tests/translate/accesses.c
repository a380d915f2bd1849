/*
 * accesses.c - each form of access, at each offset, over random shadow: is it reported exactly?
 *
 * An access is bad if one of its bytes is not accessible by the shadow of its granule.  A model
 * decides that byte by byte, and the handler must get the original pc, the address, the size and the
 * kind of all bad accesses and of no others.  Groups of accesses by one register are reported in
 * their order.
 *
 * rtc-build: -O1
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "translated.h"

#define READ "1"
#define WRITE "2"
#define BOTH "3"

/* One row: the instruction's and the function's address, bytes, kind, the operand's displacement. */
struct form {
    const uint8_t *pc;
    void (*function)(void *at);
    uint64_t bytes, kind;
    int64_t more;
    uint64_t feature;
    const char *text;
};
extern const struct form forms[], forms_end[];

/* A function: what is before the access, the access, what is after it. */
#define FORM(before, instruction, after, bytes, kind, more, feature)         \
    "20:\n.cfi_startproc\n" before "\n21: " instruction "\n" after "\nret\n" \
    ".cfi_endproc\n.pushsection .data.rel.ro.forms,\"aw\"\n"                 \
    ".quad 21b, 20b, " #bytes ", " kind ", " #more ", " #feature ", 22f\n"   \
    "22: .popsection\n.pushsection .rodata.text,\"a\"\n"                     \
    "23: .asciz \"" instruction "\"\n.popsection\n"                          \
    ".pushsection .data.rel.ro.forms\n.reloc 22b - 8, R_X86_64_64, 23b\n.popsection\n"
#define PLAIN(...) FORM("", __VA_ARGS__)
/* Flags are live. */
#define FLAGS(instruction, bytes, kind, more) \
    FORM("cmp %rsp, %rdi", instruction, "seta %al", bytes, kind, more, 0)
/* Flags and rax are live, and the address is in rax. */
#define BY_RAX(instruction, bytes, kind, more)                                                     \
    FORM("mov %rdi, %rax\nmov %rax, %rsi\nxor %edx, %edx\nstc", instruction,                       \
         "adc $0, %edx\ncmp %rsi, %rax\njne 24f\ncmp $1, %edx\nje 25f\n24: ud2\n25:", bytes, kind, \
         more, 0)
/* All registers are live, and the same afterwards. */
#define ALL_LIVE(instruction, bytes, kind, more)                                          \
    FORM("push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"             \
         "mov $1,%eax\nmov $2,%ebx\nmov $3,%ecx\nmov $4,%edx\nmov $5,%ebp\nmov $6,%esi\n" \
         "mov $7,%r8d\nmov $8,%r9d\nmov $9,%r10d\nmov $10,%r11d\nmov $11,%r12d\n"         \
         "mov $12,%r13d\nmov $13,%r14d\nmov $14,%r15d\nstc",                              \
         instruction,                                                                     \
         "adc %rbx,%rax\nadd %rcx,%rax\nadd %rdx,%rax\nadd %rbp,%rax\nadd %rsi,%rax\n"    \
         "add %r8,%rax\nadd %r9,%rax\nadd %r10,%rax\nadd %r11,%rax\nadd %r12,%rax\n"      \
         "add %r13,%rax\nadd %r14,%rax\nadd %r15,%rax\ncmp $106,%rax\nje 24f\nud2\n24:\n" \
         "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx",                    \
         bytes, kind, more, 0)

/* clang-format off */
__asm__(".section .data.rel.ro.forms,\"aw\"\n.balign 8\n.globl forms\nforms:\n.text\n"
    PLAIN("movb (%rdi), %al", "", 1, READ, 0, 0)
    PLAIN("movzwl (%rdi), %eax", "", 2, READ, 0, 0)
    PLAIN("movl (%rdi), %eax", "", 4, READ, 0, 0)
    PLAIN("movq (%rdi), %rax", "", 8, READ, 0, 0)
    PLAIN("movups (%rdi), %xmm0", "", 16, READ, 0, 0)
    PLAIN("vmovups (%rdi), %ymm0", "vzeroupper", 32, READ, 0, 1)
    PLAIN("vmovups (%rdi), %zmm0", "vzeroupper", 64, READ, 0, 2)
    PLAIN("fldt (%rdi)", "fstp %st(0)", 10, READ, 0, 0)
    PLAIN("pushq (%rdi)", "pop %rax", 8, READ, 0, 0)
    PLAIN("lodsb (%rsi), %al", "", 0, READ, 0, 0)
    PLAIN("movb %al, (%rdi)", "", 1, WRITE, 0, 0)
    PLAIN("movw %ax, 2(%rdi)", "", 2, WRITE, 2, 0)
    PLAIN("movl $0, -4(%rdi)", "", 4, WRITE, -4, 0)
    PLAIN("movq %rsi, 8(%rdi)", "", 8, WRITE, 8, 0)
    PLAIN("movups %xmm0, (%rdi)", "", 16, WRITE, 0, 0)
    PLAIN("vmovups %ymm0, (%rdi)", "vzeroupper", 32, WRITE, 0, 1)
    PLAIN("vmovups %zmm0, (%rdi)", "vzeroupper", 64, WRITE, 0, 2)
    PLAIN("incb (%rdi)", "", 1, BOTH, 0, 0)
    PLAIN("incw (%rdi)", "", 2, BOTH, 0, 0)
    PLAIN("incl (%rdi)", "", 4, BOTH, 0, 0)
    PLAIN("incq (%rdi)", "", 8, BOTH, 0, 0)
    PLAIN("xchg %rax, (%rdi)", "", 8, BOTH, 0, 0)
    FORM("mov $2, %esi", "movl 8(%rdi,%rsi,4), %eax", "", 4, READ, 16, 0)
    FORM("lea -3(%rdi), %r12\nmov %r12, %r13", "movq 3(%r12), %rax", "", 8, READ, 0, 0)
    FORM("mov %rdi, %r13", "movw (%r13), %ax", "", 2, READ, 0, 0)
    FORM("mov %rdi, %r12", "movl %eax, (%r12)", "", 4, WRITE, 0, 0)
    FORM("xor %r9d, %r9d", "movl 1000(%rdi,%r9,8), %eax", "", 4, READ, 1000, 0)
    FORM("mov %rdi, %r11", "movb (,%r11,1), %al", "", 1, READ, 0, 0)
    FLAGS("movb (%rdi), %cl", 1, READ, 0)
    FLAGS("movq (%rdi), %rcx", 8, READ, 0)
    FLAGS("movups %xmm1, (%rdi)", 16, WRITE, 0)
    BY_RAX("movq (%rax), %rcx", 8, READ, 0)
    BY_RAX("movl %ecx, 4(%rax)", 4, WRITE, 4)
    BY_RAX("movb 1(%rax), %cl", 1, READ, 1)
    ALL_LIVE("movups (%rdi), %xmm0", 16, READ, 0)
    ALL_LIVE("movups %xmm0, (%rdi)", 16, WRITE, 0)
    ALL_LIVE("fldt (%rdi)\nfstp %st(0)", 10, READ, 0)
    ALL_LIVE("movd (%rdi), %xmm0", 4, READ, 0)
    ".section .data.rel.ro.forms\n.globl forms_end\nforms_end:\n.text\n");
/* clang-format on */

/* One access of a group; the last of a group has its function, others 0. */
struct part {
    const uint8_t *pc;
    void (*function)(void *at);
    uint64_t bytes, kind;
    int64_t more;
};
extern const struct part parts[], parts_end[];

#define PART(instruction, bytes, kind, more)                        \
    "21: " instruction "\n.pushsection .data.rel.ro.parts,\"aw\"\n" \
    ".quad 21b, 0, " #bytes ", " kind ", " #more "\n.popsection\n"
#define GROUP(before, accesses, after)                                         \
    "20:\n.cfi_startproc\n" before "\n" accesses after "\nret\n.cfi_endproc\n" \
    ".pushsection .data.rel.ro.parts\n.reloc . - 32, R_X86_64_64, 20b\n.popsection\n"

/* clang-format off */
__asm__(".section .data.rel.ro.parts,\"aw\"\n.balign 8\n.globl parts\nparts:\n.text\n"
    /* fields of a struct, in any order */
    GROUP("", PART("movq (%rdi), %rax", 8, READ, 0) PART("movl 8(%rdi), %ecx", 4, READ, 8)
              PART("movb %cl, 14(%rdi)", 1, WRITE, 14), "")
    GROUP("", PART("movl 20(%rdi), %eax", 4, READ, 20) PART("movq %rax, (%rdi)", 8, WRITE, 0)
              PART("incw 10(%rdi)", 2, BOTH, 10), "")
    GROUP("", PART("movq 40(%rdi), %rax", 8, READ, 40) PART("movups 8(%rdi), %xmm0", 16, READ, 8), "")
    /* the same bytes again, and a part of them */
    GROUP("", PART("movl 4(%rdi), %eax", 4, READ, 4) PART("addl $1, 4(%rdi)", 4, BOTH, 4)
              PART("movb 6(%rdi), %al", 1, READ, 6), "")
    /* too far away, and not aligned to 8 bytes: checks of their own */
    GROUP("", PART("movq (%rdi), %rax", 8, READ, 0) PART("movq 96(%rdi), %rcx", 8, READ, 96), "")
    GROUP("", PART("movl (%rdi), %eax", 4, READ, 0) PART("movl 4(%rdi), %ecx", 4, READ, 4), "")
    GROUP("", PART("fldt (%rdi)", 10, READ, 0) PART("movq 16(%rdi), %rcx", 8, READ, 16),
          "fstp %st(0)")
    /* the register is written between them */
    GROUP("", PART("movq (%rdi), %rax", 8, READ, 0) "add $8, %rdi\n"
              PART("movq (%rdi), %rcx", 8, READ, 8), "")
    GROUP("mov $1, %esi", PART("movq (%rdi,%rsi,8), %rax", 8, READ, 8) "inc %esi\n"
              PART("movq (%rdi,%rsi,8), %rcx", 8, READ, 16), "")
    /* a branch, and a label; the first access is not executed */
    GROUP("", "jmp 26f\n" "movq (%rdi), %rax\n26: " PART("movq 8(%rdi), %rcx", 8, READ, 8), "")
    GROUP("", PART("movq (%rdi), %rax", 8, READ, 0) "cmp %rsp, %rdi\njb 27f\nmovq 8(%rdi), %rcx\n27:\n"
              PART("movq 16(%rdi), %rcx", 8, READ, 16), "")
    /* rax and flags are live, and the address is in rax */
    GROUP("mov %rdi, %rax\nstc", PART("movq (%rax), %rcx", 8, READ, 0)
              PART("movq 16(%rax), %rdx", 8, READ, 16), "jc 28f\nud2\n28: cmp %rax, %rdi\nje 29f\nud2\n29:")
    ".section .data.rel.ro.parts\n.globl parts_end\nparts_end:\n.text\n");
/* clang-format on */

#define GRANULES 24
#define MIDDLE 64

static char *area; /* with 2 KiB on both sides */
static int8_t shadow[GRANULES];

/* Blocks end in a partial granule, so that one is followed by a bad one. */
static void set_shadow(unsigned round)
{
    for (unsigned n = 0; n < GRANULES; n++) {
        int r = rand() % 8;
        if (n > 0 && shadow[n - 1] > 0)
            shadow[n] = (int8_t)(-1 - rand() % 100);
        else
            shadow[n] = (int8_t)(round == 0 || r < 4 ? 0
                                 : r < 6             ? 1 + rand() % 7
                                                     : -128 + rand() % 128);
        if (shadow_set)
            shadow_set(area + 8 * n, 8, shadow[n]);
    }
}

static int is_bad(const char *at, uint64_t bytes)
{
    for (const char *p = at; p < at + bytes; p++) {
        uint64_t granule = (uint64_t)(p - area) / 8;
        int s = p < area || granule >= GRANULES ? 0 : shadow[granule];
        if (s < 0 || (s > 0 && (int)((uintptr_t)p & 7) >= s))
            return 1;
    }
    return 0;
}

static int try(const struct form *f, char *at)
{
    struct bad_access got = {0};
    uint64_t before = last_bad(&got), count;
    const char *access = at + f->more;
    int want = f->bytes && is_bad(access, f->bytes);

    __asm__ volatile("call *%1"
                     : "+D"(at)
                     : "r"(f->function), "S"(area - 64)
                     : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "xmm0", "xmm1",
                       "cc", "memory");
    count = last_bad(&got) - before;
    if (count != (uint64_t)want || (want && (got.pc != f->pc || got.address != access ||
                                             got.bytes != f->bytes || got.kind != f->kind))) {
        printf("%s at offset %ld: %lu reports, not %d; pc %ld, address %ld, %u bytes, kind %u\n",
               f->text, (long)(access - area), count, want, (long)((uint8_t *)got.pc - f->pc),
               (long)((char *)got.address - access), got.bytes, got.kind);
        return 1;
    }
    return 0;
}

/* A group of accesses: those that are bad are reported one by one.  Returns the number of wrong ones. */
static int try_group(const struct part *first, const struct part *last, char *at)
{
    struct bad_access got = {0};
    uint64_t n = last_bad(&got);
    char *moved = at;
    int wrong = 0;

    __asm__ volatile("call *%1"
                     : "+D"(moved)
                     : "r"(last->function)
                     : "rax", "rcx", "rdx", "rsi", "xmm0", "cc", "memory");
    for (const struct part *p = first; p <= last; p++) {
        if (!is_bad(at + p->more, p->bytes))
            continue;
        got = bad_at(n++);
        wrong += got.pc != p->pc || got.address != at + p->more || got.bytes != p->bytes ||
                 got.kind != p->kind;
    }
    return wrong + (last_bad(&got) != n);
}

static unsigned try_groups(char *at, unsigned *tried)
{
    unsigned wrong = 0;

    for (const struct part *first = parts, *p = parts; p < parts_end; p++) {
        if (!p->function)
            continue;
        *tried += (unsigned)(p - first) + 1;
        if (try_group(first, p, at)) {
            printf("group %ld at offset %ld\n", (long)(first - parts), (long)(at - area));
            wrong++;
        }
        first = p + 1;
    }
    return wrong;
}

static int has(const struct form *f)
{
    return f->feature == 0 || (f->feature == 1 && __builtin_cpu_supports("avx")) ||
           (f->feature == 2 && __builtin_cpu_supports("avx512f"));
}

int main(void)
{
    unsigned wrong = 0, tried = 0;

    area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    area += 4096;
    for (unsigned round = 0; last_bad && round < 40; round++) {
        set_shadow(round);
        for (const struct form *f = forms; f < forms_end; f++)
            for (int offset = 0; has(f) && offset < MIDDLE; offset++, tried++)
                wrong += (unsigned)try(f, area + 32 + offset);
        for (int offset = 0; offset < MIDDLE; offset++)
            wrong += try_groups(area + 32 + offset, &tried);
    }
    printf("%u accesses, %u wrong\n", tried, wrong);
    return wrong > 0;
}
