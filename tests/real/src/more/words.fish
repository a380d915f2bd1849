set words (head -n 300 $argv[1])
for w in $words[1..40]
    echo $w (string length $w) (string replace -ra '[aeiou]' '.' $w) (math (string length $w) '*' 3)
end
function deep; test $argv[1] -gt 0; and deep (math $argv[1] - 1); or echo bottom; end
deep 30
echo (string join , (for w in $words; echo $w; end | sort -u | head -n 20))
exit 7
