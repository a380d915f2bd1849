# Background jobs, wait for each, traps, signals, coprocesses, exec in place.
for i in 1 2 3 4 5 6; do
    (for j in {1..200}; do s+="$i$j"; done; exit "$i") &
    pids+=("$!")
done
for p in "${pids[@]}"; do
    wait "$p"
    statuses+="$? "
done
echo "statuses $statuses"
trap 'echo trapped USR1' USR1
kill -USR1 $$
sleep 100 &
kill %sleep
wait $! 2>/dev/null
echo "killed $?"
coproc tr a-z A-Z
echo "through a coprocess" >&"${COPROC[1]}"
exec {COPROC[1]}>&-
cat <&"${COPROC[0]}"
( (sh -c 'echo grandchild; exit 2'); echo "status $?" ) &
wait
trap 'echo leaving' EXIT
(exec /usr/bin/env -i A=1 B=2 /usr/bin/env)
exec 3>&1
echo "on descriptor 3" >&3
kill -TERM $$
