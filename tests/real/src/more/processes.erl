-module(processes).
-export([main/0]).
main() ->
    Me = self(),
    [spawn(fun() -> Me ! {N, lists:sum([X * X || X <- lists:seq(1, N * 10)])} end) || N <- lists:seq(1, 500)],
    Got = lists:sort([receive M -> M end || _ <- lists:seq(1, 500)]),
    io:format("~p ~p~n", [length(Got), [lists:nth(N * 25, Got) || N <- lists:seq(1, 20)]]),
    T = ets:new(t, [ordered_set]),
    [ets:insert(T, {I rem 997, integer_to_binary(I)}) || I <- lists:seq(1, 5000)],
    io:format("~p ~p~n", [ets:info(T, size), ets:first(T)]),
    io:format("~p~n", [binary:part(base64:encode(zlib:gzip(term_to_binary(ets:tab2list(T)))), 30, 60)]),
    halt(3).
