camera { location <0, 2, -5> look_at 0 } light_source { <5, 8, -6> 1 } plane { y, -1 pigment { checker rgb 1 rgb 0 } }
#declare i = 0; #while (i < 12) sphere { <sin(i), i / 6 - 1, cos(i)>, 0.4 pigment { rgb <i / 12, 1 - i / 12, 0.5> } finish { reflection 0.3 } } #declare i = i + 1; #end
