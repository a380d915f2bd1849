for(n=1,40,print(n," ",factor(2^n-1)));
print(nfinit(x^3-x-1).disc);
print(ellap(ellinit([0,-1,1,0,0]),10007));
print(vector(20,i,eulerphi(i!)));
