set terminal svg size 500,300 name "plot"
set output "plot.svg"
set samples 300
plot sin(x)*exp(-x*x/50) title "damped", '-' using 1:2 with points title "data"
-5 0.1
0 0.3
5 -.2
e
