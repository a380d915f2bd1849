typeset -A count
while read -r line; do for w in ${(s: :)line}; do (( count[${#w}]++ )); done; done < $1
for k in ${(ko)count}; print $k $count[$k]
sum=0; for i in {1..2000}; do (( sum += i * i )); done; print $sum
print -l ${(u)${(f)"$(cut -c1 $1)"}} | sort
( sleep 0.01; print from a child; exit 3 ) & wait $!; print status $?
print ${(U)$(head -n 3 $1 | tr '\n' ' ')}
exit 11
