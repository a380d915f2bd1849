set f [open [lindex $argv 0]]
set all [split [string trim [read $f]] \n]
close $f
foreach w $all { lappend by([string index $w 0]) $w; dict incr lengths [string length $w] }
foreach c [lsort [array names by]] { puts "$c [llength $by($c)] [lindex [lsort $by($c)] 0] [regsub -all {[aeiou]} [lindex $by($c) end] -]" }
puts [lsort -integer -stride 2 $lengths]
for {set i 0} {$i < 200} {incr i} { proc p$i x "expr {\$x * $i}"; append out [p$i $i] , }
puts $out
exit 9
