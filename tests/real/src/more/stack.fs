: squares 0 do i i * . loop cr ;
200 squares
: fib dup 2 < if drop 1 else dup 1- recurse swap 2 - recurse + then ;
20 fib . cr
: chars 26 0 do i 97 + emit loop cr ; chars chars
create table 100 cells allot
: fill-it 100 0 do i i * table i cells + ! loop ; fill-it
: show 100 0 do table i cells + @ . loop cr ; show
variable p 1000 allocate throw p ! p @ 1000 42 fill p @ 999 + c@ . p @ free throw cr
bye
