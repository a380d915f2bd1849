set pagination off
set width 0
info line main
list weigh
tbreak stop_here
run
print *first
print sizeof(struct item)
ptype struct item
up
print n
break weigh if depth == 3
continue
bt
finish
delete
python print(sum(i * i for i in range(1000)), gdb.lookup_static_symbol("weigh").name)
continue
