model down_bilinear {
  type E = f16;
  input x : E[16,64,256,256];
  output y[n,c,h in 0..128,w in 0..128] : E = (f32(x[n,c,2*h,2*w])+x[n,c,2*h+1,2*w]+x[n,c,2*h,2*w+1]+x[n,c,2*h+1,2*w+1])*0.25;
}
