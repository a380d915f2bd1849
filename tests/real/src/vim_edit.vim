" Substitutions, global commands, sorting, registers and macros, then the text to stdout.
%s/\v<(\w)(\w*)>/\u\1\2/g
sort! n
g/Qu/normal A <- q
g/^1/copy $
1,40g/./move 0
normal ggqqddp02xjq20@q
10,$-60d
1,20join
w! edited.txt
%print
qall!
