# A database cluster of its own: created, served, queried, stopped.
bin=$(echo /usr/lib/postgresql/*/bin)
$bin/initdb -D data -U me --auth=trust --no-sync -E UTF8 --no-locale >/dev/null 2>init.log || { cat init.log; exit 1; }
$bin/pg_ctl -D data -o "-c listen_addresses= -c unix_socket_directories=$PWD -c fsync=off" -w -l log start >/dev/null || { cat log; exit 1; }
/usr/bin/psql -X -q -h "$PWD" -U me -d postgres <<'SQL'
create table t (id int primary key, name text, score numeric);
insert into t select i, md5(i::text), i * 1.25 from generate_series(1, 2000) i;
create index by_name on t (name);
select count(*), sum(score), min(name), max(name) from t;
select id, name from t where name like 'ab%' order by name limit 5;
begin; delete from t where id % 2 = 0; rollback;
select id % 7 as seven, avg(score)::numeric(10,2) from t group by 1 order by 1;
select 1 / 0;
do $$ begin for i in 1..50 loop perform count(*) from t a join t b using (id) where a.id < i; end loop; end $$;
select jsonb_agg(id) from t where id < 10;
SQL
echo "psql $?"
$bin/pg_ctl -D data -m fast -w stop >/dev/null
echo "stopped $?"
