op   f ( x:T[ N,C ,.. ] ,y : T[C]=0 ; k[2]=1,list[],s="a{ N+1 }b",eps=1e-5 )->z:T[N,C,..]{
require(C%k[0]==0&&N>0||!(C!=3));
z[n,c,..]=(x[n,c,..]+y[c])*sum(i in 0..k[0],j in 0..k[1])x[n,i*k[1]+j,..]or -inf;}
block g(x:T[A..,D@axis,B..];axis=-1)->y{param w:T[D]="w.{axis}";state s:T[D]=0;
y[A..,d,B..]=f32(x[A..,d,B..])*w[d]+T(s[d])-max(d2 in 0..D)w[d2]*-2%3/(4-5);}
model m{dim B=3;type E=f16;input x:E[B,4]in 0..7;h:f32[B,4]=0;n[]=sum(i,j)x[i,j];
for l in 0..3{h=g[l](h,axis=l)as"layer.{l}.{l + 1}";}
if(B==3){h=h+1;}else if(B==4){h=h+2;}else{h=h+3;}
scan t in 0..4{h=h*2;}
@fuse(h,n)output y[i,j in 0..4]:E=i<j?h[i,j]:x[i,j]>0?1:true?inf:false;
output long_name_of_an_output_tensor=concat(relu(h),relu(h),relu(h),relu(h),relu(h),relu(h),relu(h),axis=-1);
}
