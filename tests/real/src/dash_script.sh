# The same mechanisms in a shell that uses vfork for simple commands.
i=0
while [ $i -lt 40 ]; do
    i=$((i + 1))
    x="$x$(echo $i | sed 's/^/./')"
done
echo "$x"
count() { n=0; while read -r l; do n=$((n + 1)); done; echo "$n lines"; }
seq 1 500 | count
(trap 'echo in the subshell' EXIT; exit 4)
echo "status $?"
for j in a b c; do (echo "$j") & wait $!; done
echo 'cat /dev/null; exit 8' | sh
echo "piped $?"
A=1 env | grep ^A=
exec sh -c 'echo replaced; exit 6'
