/*
 * variables.cc - variables in all places with a fixed address: symbols.py looks up their names.
 */
struct inner {
    short first;
    char second[6];
};

struct base {
    long of_base;
};

struct outer : base {
    int number;
    inner pair[3];
    union {
        int as_int;
        float as_float;
    } either;
    unsigned low : 4, high : 4;
};

outer config = {};                                          /* LINE config */
__attribute__((used)) static const int table[3][4] = {{1}}; /* LINE table */
static volatile char text[40];                              /* LINE text */
int *pointer = nullptr;                                     /* LINE pointer */

namespace store
{
int count = 7; /* LINE count */
namespace
{
volatile int hidden = 8; /* LINE hidden */
}
struct shelf {
    static inner tags[2]; /* LINE tags */
};
inner shelf::tags[2];
int peek()
{
    return hidden;
}
} // namespace store

__attribute__((noinline)) int counted(int n)
{
    static int calls[4]; /* LINE calls */
    if (n > 2) {
        static long deep = 9; /* LINE deep */
        deep += n;
    }
    return calls[n & 3]++;
}

int main(int argc, char **)
{
    text[argc] = 1;
    return counted(argc) + table[argc][0] + store::peek() + config.number + (pointer != nullptr);
}
