# Loops, $(...), here-documents, arrays, process substitution and pipelines: a fork for each.
set -o pipefail
seq 1 3000 | sed 's/7/x/g' | grep x | sort -r | head -n 20 | tr '\n' ' '
echo
for i in $(seq 1 60); do
    n=$(echo $((i * i)))
    text+="$n,"
done
echo "$text"
declare -A seen
while read -r word; do
    seen[$word]=$((${seen[$word]:-0} + 1))
done < <(for i in {1..400}; do echo "w$((i % 13))"; done)
for k in "${!seen[@]}"; do echo "$k ${seen[$k]}"; done | sort
(
    cd / && (pwd; exit 3)
    echo "inner $?"
)
cat <<END | tr a-z A-Z
a here-document with $(printf %s "a command") and ${#text} characters
END
diff <(seq 1 5) <(seq 2 6)
echo "diff $?"
false | true
echo "pipefail $?"
eval 'f() { local x=$1; [ "$x" -gt 0 ] && { echo -n "$x "; f $((x - 1)); }; }'
f 30
echo
echo to-stderr >&2
no-such-command
echo "missing $?"
exit 5
