# redis_client.sh LOAD: redis-benchmark, then requests with known answers, a forked save, the digest.
set -e
redis() { redis-cli -s "$PWD/s.sock" "$@"; }
redis-benchmark -s "$PWD/s.sock" -q -n 3000 -c 10 -P 4 \
    -t set,get,incr,lpush,sadd,hset,zadd,lrange_100 >benchmark.txt
"$1" redis s.sock 10000
redis info commandstats |
    sed -nE 's/^(cmdstat_(set|get|incr|lpush|sadd|hset|zadd|lrange):calls=[0-9]+).*/\1/p' |
    sort | awk -F= '{ print; n += $2 } END { print "requests", n }'
redis debug digest
redis save
redis bgsave
until redis info persistence | grep -q 'rdb_bgsave_in_progress:0'; do :; done
redis info persistence | grep rdb_last_bgsave_status
redis debug reload
redis debug digest
redis config set maxmemory-policy allkeys-lru
redis flushall async
redis dbsize
