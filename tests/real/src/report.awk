# Associative arrays, getline from a child, printf, user functions, regular expressions.
function longest(list, n,    i, best) {
    for (i = 1; i <= n; i++) if (length(list[i]) > length(best)) best = list[i]
    return best
}
{ n = split($0, w, " "); for (i = 2; i < n; i++) count[w[i]]++; last[n] = longest(w, n) }
/q[^u]/ { odd[$1 % 10] = odd[$1 % 10] $1 "," }
END {
    for (k in count) print count[k], k | "sort -k1,1nr -k2 | head -n 10"
    close("sort -k1,1nr -k2 | head -n 10")
    for (i = 2; i < 20; i++) printf "%2d %-12s\n", i, last[i]
    for (i = 0; i < 10; i++) print i, length(odd[i])
    "echo from a child" | getline line
    print line, toupper(substr(line, 6)), NR
}
