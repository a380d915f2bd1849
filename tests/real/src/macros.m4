divert(-1)
define(`forloop', `pushdef(`$1', `$2')_forloop($@)popdef(`$1')')
define(`_forloop', `$4`'ifelse($1, `$3', `', `define(`$1', incr($1))$0($@)')')
define(`factorial', `ifelse(eval($1 < 2), 1, 1, `eval($1 * factorial(decr($1)))')')
divert(0)dnl
forloop(`i', 1, 200, `eval(i * i) patsubst(`name_'i, `_\(.*\)', `<\1>')
')dnl
factorial(10) len(forloop(`j', 1, 300, `x')) translit(`abc', `a-c', `A-C')
esyscmd(`echo from a child')dnl
