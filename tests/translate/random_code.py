"""Random functions in assembly: they use all registers, flags, the red zone and memory, and call each other.

Each call passes and returns values in any register and flag, as no ABI allows.  So a check that overwrites a register that is
live, or flags, or a byte below rsp, changes a result.
"""
import random
import re

REGISTERS = "rax rcx rdx rbx rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15".split()
LOW = {"rax": ("eax", "ax", "al"), "rcx": ("ecx", "cx", "cl"), "rdx": ("edx", "dx", "dl"), "rbx": ("ebx", "bx", "bl"),
       "rbp": ("ebp", "bp", "bpl"), "rsi": ("esi", "si", "sil"), "rdi": ("edi", "di", "dil")}
LOW.update({f"r{n}": (f"r{n}d", f"r{n}w", f"r{n}b") for n in range(8, 16)})
SUFFIX = {8: "q", 4: "l", 2: "w", 1: "b"}
CONDITIONS = "o no b ae e ne be a s ns p np l ge le g".split()


def part(register, size):
    return register if size == 8 else LOW[register][{4: 0, 2: 1, 1: 2}[size]]


class Function:
    """Two registers point into the buffer and are not written; all others are data."""

    def __init__(self, chance, callees, pointers, is_leaf):
        self.chance, self.callees, self.is_leaf, self.lines, self.labels = chance, callees, is_leaf, [], 0
        self.pointers = pointers
        self.data = [r for r in REGISTERS if r not in pointers]

    def add(self, line):
        self.lines.append("\t" + line)

    def register(self):
        return self.chance.choice(self.data)

    def memory(self):
        """An operand in the buffer; perhaps with an index, which is made small first."""
        base, offset = self.chance.choice(self.pointers), self.chance.choice((0, 1, 3, 8, 16, 40, 120, 200, 1000))
        if self.chance.random() < 0.4:
            index = self.register()
            self.add(f"movzbl %{part(index, 1)}, %{part(index, 4)}")
            return f"{offset}(%{base},%{index},{self.chance.choice((1, 2, 4, 8))})"
        return f"{offset}(%{base})"

    def arithmetic(self):
        size = self.chance.choice((8, 8, 4, 4, 2, 1))
        name = self.chance.choice("add sub adc sbb and or xor cmp test mov mov mov".split()) + SUFFIX[size]
        form = self.chance.randrange(4)
        memory = self.memory() if form else None
        one, two = f"%{part(self.register(), size)}", f"%{part(self.register(), size)}"
        if form == 0:
            self.add(f"{name} {one}, {two}")
        elif form == 1 and not name.startswith("test"):
            self.add(f"{name} {memory}, {two}")
        elif form == 2:
            self.add(f"{name} {one}, {memory}")
        else:
            self.add(f"{name} ${self.chance.randrange(-128, 127)}, {memory}")

    def one_operand(self):
        size = self.chance.choice((8, 4, 2, 1))
        name = self.chance.choice("inc dec neg not".split())
        self.add(f"{name}{SUFFIX[size]} {self.memory() if self.chance.random() < 0.5 else '%' + part(self.register(), size)}")

    def shift(self):
        name, size = self.chance.choice("shl shr sar rol ror rcl".split()), self.chance.choice((8, 4))
        by_cl = "rcx" in self.data and self.chance.random() < 0.5
        count = "%cl" if by_cl else f"${self.chance.randrange(0, 9)}"
        self.add(f"{name}{SUFFIX[size]} {count}, %{part(self.register(), size)}")
        if not by_cl:
            self.define_flags()

    def define_flags(self):
        """After an instruction that leaves some undefined, which may or may not be the same as before."""
        self.add(f"cmp %{self.register()}, %{self.register()}")

    def by_flags(self):
        condition = self.chance.choice(CONDITIONS)
        kind = self.chance.randrange(3)
        if kind == 0:
            self.add(f"set{condition} %{part(self.register(), 1)}")
        elif kind == 1:
            self.add(f"cmov{condition} {self.memory()}, %{self.register()}")
        else:
            self.add(f"set{condition} {self.memory()}")

    def other(self):
        one, two = self.register(), self.register()
        text = self.chance.choice((
            "movzwl M, %{1:d}", "movsbq M, %{0}", "lea 5(%{0},%{1},2), %{1}", "bswap %{0}", "imul %{0}, %{1}", "imul M, %{1}",
            "xchg %{0}, M", "xadd %{0}, M", "bsf %{0}, %{1}", "bsr M, %{1}", "btq $5, M", "movups M, %xmm1", "movups %xmm1, M",
            "cmc", "stc", "xor %{0}, %{0}", "cmpxchg %{0}, M" if "rax" in self.data else "clc"))
        text = text.replace("M", self.memory()) if "M" in text else text
        self.add(text.replace("{1:d}", part(two, 4)).replace("{0}", one).replace("{1}", two))
        if re.match("imul|bs[fr]|bt", text):
            self.define_flags()

    def stack(self):
        offset = self.chance.randrange(8, 129)
        if not self.is_leaf:
            one, two = self.register(), self.register()
            self.add(f"push %{one}")
            self.arithmetic()
            self.add(f"pop %{two}")
        elif self.chance.random() < 0.5:
            self.add(f"mov %{self.register()}, -{offset}(%rsp)")
        else:
            self.add(f"add -{offset}(%rsp), %{self.register()}")

    def branch(self):
        self.labels += 1
        label = f"1{self.labels}"
        if "rcx" in self.data and self.chance.random() < 0.2:
            self.add(f"jrcxz {label}f")
        else:
            self.add(f"j{self.chance.choice(CONDITIONS)} {label}f")
        for _ in range(self.chance.randrange(1, 6)): # few, as jrcxz does not reach far
            self.step(False)
        self.lines.append(f"{label}:")

    def step(self, may_branch=True):
        choices = [self.arithmetic] * 8 + [self.by_flags] * 3 + [self.other] * 5 + [self.shift] * 2 + [self.one_operand, self.stack]
        if may_branch:
            choices += [self.branch] * 2
        if may_branch and self.callees:
            choices += [lambda: self.add(f"call {self.chance.choice(self.callees)}")] * 2
        self.chance.choice(choices)()


PRESERVED = "rbx rbp r12 r13 r14 r15".split()


def begin(pointers):
    """An entry is called by pointer, with the buffer in rdi: then it sets all registers."""
    lines = [f"\tpush %{r}" for r in PRESERVED] + ["\tpush %rdi", "\tpush %rdi", f"\tpop %{pointers[0]}", f"\tpop %{pointers[1]}",
                                                   f"\tadd $515, %{pointers[1]}", "\tpxor %xmm1, %xmm1"]
    return lines + [f"\tmov {16 * n}(%{pointers[0]}), %{r}" for n, r in enumerate(REGISTERS) if r not in pointers]


def end(pointers):
    """All registers and flags to the buffer: by the ABI only some are live at the end."""
    lines = [f"\tset{c} {2000 + n}(%{pointers[0]})" for n, c in enumerate(("o", "b", "e", "s", "p"))]
    lines += [f"\tmov %{r}, {2008 + 8 * n}(%{pointers[0]})" for n, r in enumerate(REGISTERS)]
    return lines + [f"\tpop %{r}" for r in reversed(PRESERVED)]


def function(chance, name, callees, pointers, is_leaf):
    made, is_entry = Function(chance, callees, pointers, is_leaf), name.startswith("entry")
    if is_entry:
        made.lines += begin(pointers)
    if is_leaf: # what is below rsp is known
        made.lines += [f"\tmov %{made.register()}, -{offset}(%rsp)" for offset in range(8, 144, 8)]
    for _ in range(chance.randrange(10, 50)):
        made.step()
        if not made.callees and chance.random() < 0.02: # it continues in another function, after nops
            made.lines.append(f"\t.cfi_endproc\n\t.p2align 4\n{name}_{len(made.lines)}:\n\t.cfi_startproc")
    if is_entry:
        made.lines += end(pointers)
    made.add(f"jmp {chance.choice(callees)}" if callees and not is_entry and chance.random() < 0.3 else "ret")
    return [f"\t.p2align 4\n{name}:", "\t.cfi_startproc", *made.lines, "\t.cfi_endproc"]


def program(seed, entries):
    """Entries are called by random_main.c; each calls local functions that are called from nowhere else by pointer."""
    chance = random.Random(seed)
    lines = ["\t.text"]
    for entry in range(entries):
        pointers, callees = chance.sample(REGISTERS, 2), []
        for local in range(chance.randrange(0, 4)):
            name = f"local_{entry}_{local}"
            lines += function(chance, name, callees[:], pointers, not callees)
            callees.append(name)
        lines += function(chance, f"entry_{entry}", callees, pointers, not callees)
        lines.append(f"\t.section .data.rel.ro,\"aw\"\n\t.balign 8\n\t.quad entry_{entry}\n\t.text")
    table = "\t.section .data.rel.ro,\"aw\"\n\t.balign 8\n\t.globl entries\nentries:\n\t.text"
    end = "\t.section .data.rel.ro,\"aw\"\n\t.globl entries_end\nentries_end:\n\t.section .note.GNU-stack,\"\",@progbits"
    return "\n".join([table, *lines, end]) + "\n"
