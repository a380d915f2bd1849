/*
 * hidden_delete.cc - a library with its own operator delete, which jumps to free; new is the global one.
 */
#include "hidden.h"

NOINLINE void operator delete(void *p) noexcept
{
    std::free(p);
}

NOINLINE void operator delete(void *p, std::size_t) noexcept
{
    ::operator delete(p);
}

NOINLINE void operator delete[](void *p) noexcept
{
    if (p)
        ::operator delete(p);
}

namespace
{

volatile long sink;

struct hidden_shape {
    long value = 1;
    virtual long area() = 0;
    virtual ~hidden_shape()
    {
        sink = value;
    }
};

struct hidden_square : hidden_shape {
    long side[4] = {};
    long area() override
    {
        return side[0];
    }
    ~hidden_square() override
    {
        sink = side[1];
    }
};

/* Ends in a jump to the operator. */
NOINLINE void destroy(plain *p)
{
    sink = p->value[1];
    p->value[0] = 0;
    delete p;
}

NOINLINE void destroy_further(plain *p)
{
    sink = p->value[2] + 1;
    destroy(p);
}

/* Ends in a jump to free: no operator has to do with it. */
NOINLINE void destroy_by_free(plain *p)
{
    sink = p->value[1];
    p->value[0] = 0;
    std::free(p);
}

NOINLINE void call_free(plain *p)
{
    std::free(escape(p));
    barrier();
}

struct operations {
    void (*use)(void *);
    void (*end)(void *);
};

NOINLINE void use(void *p)
{
    sink = static_cast<long *>(p)[1];
}

NOINLINE void end(void *p)
{
    sink = static_cast<long *>(p)[2];
    std::free(p);
}

const operations by_end = {use, end}, by_free = {use, std::free};

struct with_operations {
    const operations *table;
    long value[4];
};

NOINLINE void end_by(const operations *table)
{
    auto *p = escape(new with_operations{table, {}});
    escape(p->table)->end(p);
    barrier();
}

} // namespace

CASE(silent_delete)
{
    plain *p = escape(new plain{});
    delete p;
    barrier();
}

CASE(silent_sized)
{
    plain *p = escape(new plain{});
    ::operator delete(p, sizeof *p);
    barrier();
}

CASE(silent_array)
{
    long *p = escape(new long[7]);
    delete[] p;
    barrier();
}

CASE(silent_by_function)
{
    destroy(escape(new plain{}));
    barrier();
}

CASE(silent_by_functions)
{
    destroy_further(escape(new plain{}));
    barrier();
}

CASE(silent_virtual)
{
    hidden_shape *p = escape(static_cast<hidden_shape *>(new hidden_square));
    delete p;
    barrier();
}

CASE(guilty_free)
{
    std::free(escape(new plain{}));
    barrier();
}

CASE(guilty_by_function)
{
    destroy_by_free(escape(new plain{}));
    barrier();
}

CASE(guilty_by_call)
{
    call_free(escape(new plain{}));
    barrier();
}

CASE(guilty_by_pointer)
{
    void (*f)(void *) = escape(&std::free);
    f(escape(new plain{}));
    barrier();
}

CASE(guilty_by_table)
{
    end_by(escape(&by_end));
    barrier();
}

CASE(guilty_by_table_of_free)
{
    end_by(escape(&by_free));
    barrier();
}
