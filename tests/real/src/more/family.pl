parent(a,b). parent(b,c). parent(c,d). parent(a,e).
older(X,Y) :- parent(X,Y).
older(X,Y) :- parent(X,Z), older(Z,Y).
queens(N, Qs) :- numlist(1, N, Ns), permutation(Ns, Qs), safe(Qs).
safe([]). safe([Q|Qs]) :- none(Q, Qs, 1), safe(Qs).
none(_, [], _). none(Q, [R|Rs], D) :- Q =\= R + D, Q =\= R - D, E is D + 1, none(Q, Rs, E).
:- initialization((forall(older(a,X), (write(X), nl)), queens(7, Q), write(Q), nl,
    findall(Y, (between(1, 3000, I), Y is I * I mod 101), Ys), sort(Ys, Zs), length(Zs, L), write(L), write(Zs), nl,
    catch(atom_length(_, _), error(E, _), (write(E), nl)), halt(5))).
