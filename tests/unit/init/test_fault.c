/*
 * test_fault.c - registers of an instruction's memory operand, and values that are pointers read
 * from freed memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "init.h"
#include "fault.h"
#include "instructions.h"

#include <cmocka.h>

#define NO NO_REGISTER

/* Assembled from the code in the comment. */
static const struct {
    const char *code;
    size_t room;
    struct operand is;
} cases[] = {
    /* clang-format off */
    {"\x48\x8b\x00", 3, {.base = 0, .index = NO, .memory = true}},                       /* mov (%rax),%rax */
    {"\x49\x8b\x4c\x24\x08", 5, {8, .base = 12, .index = NO, .memory = true}},           /* mov 8(%r12),%rcx */
    {"\x49\x8b\x4d\xf8", 4, {(uint32_t)-8, .base = 13, .index = NO, .memory = true}},    /* mov -8(%r13),%rcx */
    {"\x4a\x8b\x84\xf8\x00\x01\x00\x00", 8, {256, .base = 0, .index = 15, .scale = 3, .memory = true}},
    {"\x8b\x04\x25\x10\x00\x00\x00", 7, {16, .base = NO, .index = NO, .memory = true}},  /* mov 0x10,%eax */
    {"\x8b\x05\x10\x00\x00\x00", 6, {16, .base = NO, .index = NO, .memory = true, .by_pc = true}},
    {"\x8b\x04\x8d\x00\x00\x00\x00", 7, {0, .base = NO, .index = 1, .scale = 2, .memory = true}},
    {"\x64\xf0\x48\x0f\xb1\x13", 6, {.base = 3, .index = NO, .memory = true}},           /* lock cmpxchg %rdx,%fs:(%rbx) */
    {"\xc6\x46\x03\x07", 4, {3, .base = 6, .index = NO, .memory = true}},                /* movb $7,3(%rsi) */
    {"\xf3\x0f\x6f\x06", 4, {.base = 6, .index = NO, .memory = true}},                   /* movdqu (%rsi),%xmm0 */
    {"\x66\x0f\x38\x00\x07", 5, {.base = 7, .index = NO, .memory = true}},               /* pshufb (%rdi),%xmm0 */
    {"\xc5\xfe\x6f\x06", 4, {.base = 6, .index = NO, .memory = true}},                   /* vmovdqu (%rsi),%ymm0 */
    {"\xc4\xc1\x7d\x74\x04\x24", 6, {.base = 12, .index = NO, .memory = true}},          /* vpcmpeqb (%r12),%ymm0,%ymm0 */
    {"\x62\xb1\x7c\x28\x28\x04\x07", 7, {.base = 7, .index = 8, .memory = true}},        /* vmovaps (%rdi,%r8),%ymm16 */
    {"\xff\x50\x18", 3, {24, .base = 0, .index = NO, .memory = true, .branch = true}},   /* call *24(%rax) */
    {"\x41\xff\xe3", 3, {.base = 11, .index = NO, .branch = true}},                      /* jmp *%r11 */
    {"\xf3\x48\xa5", 3, {.base = NO, .index = NO, .implied = 1 << 6 | 1 << 7}},          /* rep movsq */
    {"\xd7", 1, {.base = NO, .index = NO, .implied = 1 << 3}},                           /* xlat */
    {"\x48\x89\xc3", 3, {.base = NO, .index = NO}},                                      /* mov %rax,%rbx */
    {"\xf4", 1, {.base = NO, .index = NO}},                                              /* hlt */
    {"\x0f\x0b", 2, {.base = NO, .index = NO}},                                          /* ud2 */
    {"\xe8\x00\x00\x00\x00", 5, {.base = NO, .index = NO}},                              /* call */
    /* clang-format on */
};

/* Sizes of the operands above; 0: not known, or no operand. */
static const uint8_t sizes[] = {8, 8, 8, 8, 4, 4, 4, 8, 1, 16, 0, 32, 0, 32, 8, 8, 8, 1};

/* Further sizes. */
static const struct {
    const char *code;
    size_t room;
    uint8_t bytes;
} sized[] = {
    {"\x66\x89\x07", 3, 2},              /* mov %ax,(%rdi) */
    {"\x88\x07", 2, 1},                  /* mov %al,(%rdi) */
    {"\x0f\xb6\x07", 3, 1},              /* movzbl (%rdi),%eax */
    {"\x48\x0f\xbf\x07", 4, 2},          /* movswq (%rdi),%rax */
    {"\x48\x63\x07", 3, 4},              /* movslq (%rdi),%rax */
    {"\xf3\x0f\x11\x07", 4, 4},          /* movss %xmm0,(%rdi) */
    {"\xf2\x0f\x10\x07", 4, 8},          /* movsd (%rdi),%xmm0 */
    {"\x0f\x29\x07", 3, 16},             /* movaps %xmm0,(%rdi) */
    {"\xc5\xfc\x29\x07", 4, 32},         /* vmovaps %ymm0,(%rdi) */
    {"\x62\xf1\xfe\x48\x7f\x07", 6, 64}, /* vmovdqu64 %zmm0,(%rdi) */
    {"\xff\x37", 2, 8},                  /* push (%rdi) */
    {"\xff\x07", 2, 4},                  /* incl (%rdi) */
    {"\xf3\xaa", 2, 1},                  /* rep stosb */
    {"\xd9\x07", 2, 0},                  /* flds (%rdi): not known */
};

static void test_sizes(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes; i++)
        assert_int_equal(operand_of((const uint8_t *)cases[i].code, cases[i].room).access_bytes,
                         sizes[i]);
    for (size_t i = 0; i < sizeof sized / sizeof *sized; i++)
        assert_int_equal(operand_of((const uint8_t *)sized[i].code, sized[i].room).access_bytes,
                         sized[i].bytes);
}

/* r, w; "?": not known. */
static const struct {
    const char *code;
    size_t room;
    char access;
} accesses[] = {
    {"\x48\x8b\x00", 3, 'r'},             /* mov (%rax),%rax */
    {"\x48\x89\x07", 3, 'w'},             /* mov %rax,(%rdi) */
    {"\xc6\x46\x03\x07", 4, 'w'},         /* movb $7,3(%rsi) */
    {"\x48\x01\x07", 3, 'w'},             /* add %rax,(%rdi) */
    {"\x48\x03\x07", 3, 'r'},             /* add (%rdi),%rax */
    {"\x48\x39\x07", 3, 'r'},             /* cmp %rax,(%rdi) */
    {"\x48\x3b\x07", 3, 'r'},             /* cmp (%rdi),%rax */
    {"\x80\x3f\x07", 3, 'r'},             /* cmpb $7,(%rdi) */
    {"\x80\x0f\x07", 3, 'w'},             /* orb $7,(%rdi) */
    {"\xf7\x07\x01\x00\x00\x00", 6, 'r'}, /* testl $1,(%rdi) */
    {"\xf7\x1f", 2, 'w'},                 /* negl (%rdi) */
    {"\xf7\x27", 2, 'r'},                 /* mull (%rdi) */
    {"\xff\x07", 2, 'w'},                 /* incl (%rdi) */
    {"\xff\x37", 2, 'r'},                 /* push (%rdi) */
    {"\x8f\x07", 2, 'w'},                 /* pop (%rdi) */
    {"\xd1\x27", 2, 'w'},                 /* shll (%rdi) */
    {"\x0f\xb6\x07", 3, 'r'},             /* movzbl (%rdi),%eax */
    {"\x0f\x94\x07", 3, 'w'},             /* sete (%rdi) */
    {"\x64\xf0\x48\x0f\xb1\x13", 6, 'w'}, /* lock cmpxchg %rdx,%fs:(%rbx) */
    {"\xf0\x0f\xc1\x07", 4, 'w'},         /* lock xadd %eax,(%rdi) */
    {"\xf3\x0f\x6f\x06", 4, 'r'},         /* movdqu (%rsi),%xmm0 */
    {"\xf3\x0f\x7f\x06", 4, 'w'},         /* movdqu %xmm0,(%rsi) */
    {"\xf3\x0f\x7e\x06", 4, 'r'},         /* movq (%rsi),%xmm0 */
    {"\x66\x0f\xd6\x06", 4, 'w'},         /* movq %xmm0,(%rsi) */
    {"\x0f\x29\x07", 3, 'w'},             /* movaps %xmm0,(%rdi) */
    {"\xc5\xfe\x6f\x06", 4, 'r'},         /* vmovdqu (%rsi),%ymm0 */
    {"\xc5\xfe\x7f\x06", 4, 'w'},         /* vmovdqu %ymm0,(%rsi) */
    {"\x62\xf1\xfe\x48\x7f\x07", 6, 'w'}, /* vmovdqu64 %zmm0,(%rdi) */
    {"\x66\x0f\x38\x00\x07", 5, '?'},     /* pshufb (%rdi),%xmm0 */
    {"\xf3\xaa", 2, 'w'},                 /* rep stosb */
    {"\xac", 1, 'r'},                     /* lodsb */
    {"\xf3\x48\xa5", 3, '?'},             /* rep movsq */
    {"\xd9\x07", 2, '?'},                 /* flds (%rdi) */
};

static void test_accesses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++) {
        print_message("%zu\n", i);
        assert_int_equal(
            "?rw"[operand_of((const uint8_t *)accesses[i].code, accesses[i].room).access],
            accesses[i].access);
    }
}

static void test_operands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct operand o = operand_of((const uint8_t *)cases[i].code, cases[i].room),
                       is = cases[i].is;
        print_message("%zu\n", i);
        assert_int_equal(o.base, is.base);
        assert_int_equal(o.index, is.index);
        assert_int_equal(o.implied, is.implied);
        assert_int_equal(o.memory, is.memory);
        assert_int_equal(o.by_pc, is.by_pc);
        assert_int_equal(o.branch, is.branch);
        assert_int_equal(o.scale, is.scale);
        assert_int_equal(o.displacement, is.displacement);
    }
}

/* Every truncated prefix of each instruction, at the end of readable memory. */
static void test_cut(void **state)
{
    (void)state;
    uint8_t *end = (uint8_t *)mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) +
                   PAGE_BYTES;
    assert_int_equal(mprotect(end, PAGE_BYTES, PROT_NONE), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t room = 0; room < cases[i].room; room++) {
            memcpy(end - room, cases[i].code, room);
            assert_true(operand_of(end - room, room).bytes <= room);
        }
    static uint8_t prefixes[64];
    memset(prefixes, 0x66, sizeof prefixes);
    assert_true(operand_of(prefixes, sizeof prefixes).bytes <= 15);
}

#define WORD(tag) ((tag##ull) << 56 | 0x90a0b0c0d0e0f0)

static void test_fill(void **state)
{
    static const struct {
        uint64_t value;
        int fill;
        bool has;
    } values[] = {
        /* clang-format off */
        {0xfdfdfdfdfdfdfdfd, 0xfd, true},  {0xfdfdfdfdfdfdfdfd + 65535, 0xfd, true}, {0xfdfdfdfdfdfdfdfd - 4096, 0xfd, true},
        {0xfdfdfdfdfdfdfdfd + 65536, 0xfd, false}, {0xfdfdfdfdfdfdfdfd - 4097, 0xfd, false},
        {0xfdfdfdfdfdfd, 0xfd, true},      {0xfffffdfdfdfdfdfd, 0xfd, true},         {0x1234fdfdfdfdfdfd, 0xfd, false},
        {0xfdfdfdfd, 0xfd, true},          {0x5afdfdfdfd, 0xfd, false},              {0x5a5a5a5a5a5a, 0x5a, true},
        {0x5a5a5a5a5a5a5a5a, 0xfd, false}, {0, 0, false},                            {0, 0xfd, false},
        {UINT64_MAX, 0xff, true},          {UINT64_MAX - 11, 0xff, false},           {23, 0xff, false},
        {UINT32_MAX, 0xff, false},         {0xfdfdfdfdfdfdfdfd, -1, false},
        {WORD(0xde), FILL_OF_BLOCK, true}, {WORD(0xde), 0xfd, false},             {0xa0b0c0d0e0f0, FILL_OF_BLOCK, false},
        {WORD(0xb1), FILL_OF_BLOCK, false}, {WORD(0xb1), FILL_OF_NEW_BLOCK, true}, {WORD(0xde), FILL_OF_NEW_BLOCK, false},
        {WORD(0xdd), FILL_OF_BLOCK, false}, {WORD(0xdf), FILL_OF_BLOCK, false},    {WORD(0xde) + 65536, FILL_OF_BLOCK, true},
        {WORD(0xde) - 65536, FILL_OF_BLOCK, true}, {0xde9020b0c0d0e0f0, FILL_OF_BLOCK, false}, {0xde90a030c0d0e0f0, FILL_OF_BLOCK, false},
        {0xde10a0b0c0d0e0f0, FILL_OF_BLOCK, false},
        /* clang-format on */
    };
    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        print_message("%zu\n", i);
        assert_int_equal(fault_has_fill(values[i].value, values[i].fill), values[i].has);
    }
}

/* A word holds each bit of an address, its bytes are at least 0x80, and it is not canonical. */
static void test_fill_words(void **state)
{
    (void)state;
    uint64_t address = 1, seed = 1;
    for (int i = 0; i < 100000; i++) {
        uint64_t word = fill_word_of(FILL_TAG_FREED, address), low = word << 16 >> 16;
        for (int bit = 7; bit < 64; bit += 8)
            assert_true(word >> bit & 1);
        assert_int_equal(word >> 56, FILL_TAG_FREED);
        assert_int_equal(fill_word_address(word), address);
        assert_true((int64_t)word >> 47 != 0 && (int64_t)word >> 47 != -1);
        assert_int_equal(low >> 47, 1);
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        address = i < 46 ? 2ull << i : seed >> 17;
    }
    assert_int_equal(fill_word_address(WORD(0xde) ^ 0x80), 0);
    assert_int_equal(fill_word_address(0), 0);
    assert_int_equal(fill_word_of(FILL_TAG_NEW, 0x7fffffffffff), 0xb19fffffffffffffull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operands), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_accesses), cmocka_unit_test(test_cut),
        cmocka_unit_test(test_fill),     cmocka_unit_test(test_fill_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
