# grep's and sed's engines, with back-references and many patterns.
text=$1/text.txt
grep -cE '([a-z])\1' "$text"
grep -oE '\b[a-z]*(qu|xy|zz)[a-z]*\b' "$text" | sort | uniq -c | sort -rn | head -n 15
head -n 300 "$1/words.txt" >patterns
grep -cwFf patterns "$text"
grep -nP '(?<=a)b(?!c)\w{7}' "$text" | head -n 5
sed -nE 's/^([0-9]+) ([a-z]+) ([a-z]+).*/\3 \2 \1/p' "$text" | tail -n 5
sed -e ':a' -e '$!N;s/\n/+/;ta' <"$1/small.txt" | cut -c 1-200
sed -n '/aa/,/zz/{/^1/!p}' "$text" | md5sum
