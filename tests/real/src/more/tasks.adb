with Ada.Text_IO; use Ada.Text_IO;
with Ada.Containers.Indefinite_Ordered_Maps;
with Ada.Command_Line;
procedure Tasks is
   package Maps is new Ada.Containers.Indefinite_Ordered_Maps (Integer, String);
   protected Sum is
      procedure Add (N : Long_Long_Integer);
      function Get return Long_Long_Integer;
   private
      Value : Long_Long_Integer := 0;
   end Sum;
   protected body Sum is
      procedure Add (N : Long_Long_Integer) is begin Value := Value + N; end Add;
      function Get return Long_Long_Integer is (Value);
   end Sum;
   task type Adder;
   task body Adder is begin
      for I in 1 .. 1000 loop Sum.Add (Long_Long_Integer (I)); end loop;
   end Adder;
   M : Maps.Map;
begin
   declare All_Of_Them : array (1 .. 4) of Adder; pragma Unreferenced (All_Of_Them); begin null; end;
   Put_Line (Sum.Get'Image);
   for I in 1 .. 2000 loop
      M.Include (I * 7919 mod 97, (1 .. I mod 9 => 'x'));
   end loop;
   for C in M.Iterate loop
      Put_Line (Maps.Key (C)'Image & " " & Maps.Element (C));
   end loop;
   begin
      raise Constraint_Error with "as meant";
   exception
      when Constraint_Error => Put_Line ("caught");
   end;
   Ada.Command_Line.Set_Exit_Status (8);
end Tasks;
