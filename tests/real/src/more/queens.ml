module M = Map.Make (Int)
let rec queens n k placed =
  if k = n then 1
  else List.fold_left (fun sum c ->
    if List.for_all (fun (r, d) -> d <> c && abs (d - c) <> k - r) placed
    then sum + queens n (k + 1) ((k, c) :: placed) else sum) 0 (List.init n Fun.id)
let () =
  for n = 4 to 8 do Printf.printf "%d queens: %d\n" n (queens n 0 []) done;
  let m = List.fold_left (fun m i -> M.add (i * 7919 mod 1009) (String.make (i mod 9) 'x') m) M.empty (List.init 2000 Fun.id) in
  M.iter (fun k v -> if k mod 50 = 0 then Printf.printf "%d %s\n" k v) m;
  Printf.printf "%d\n" (Hashtbl.hash (Marshal.to_string m []))
