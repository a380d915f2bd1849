// mis.cc - mismatched free: an array is deleted like a single object.
struct list {
    int *items;
    list() : items(new int[10])
    {
    }
    ~list()
    {
        delete items;
    }
};

int main()
{
    list l;
    return l.items == nullptr;
}
