/usr/bin/python3 - <<'P' >p.cnf
# Seven pigeons in six holes.
p, h = 7, 6
v = lambda i, j: i * h + j + 1
c = [[v(i, j) for j in range(h)] for i in range(p)] + [[-v(i, j), -v(k, j)] for j in range(h) for i in range(p) for k in range(i)]
print("p cnf", p * h, len(c)); [print(*x, 0) for x in c]
P
/usr/bin/minisat -verb=0 p.cnf out; echo "status $?"; cat out; sed -i '2d' p.cnf; sed -i '1s/[0-9]*$/132/' p.cnf; /usr/bin/minisat -verb=0 p.cnf out; echo "status $?"; head -c 200 out; cat p.cnf | sha256sum
