model tv_loss {
  type E = f16;
  input x : E[16,3,512,512];
  output y[] : f32 = sum(n,c,h in 0..511,w in 0..511) (abs(f32(x[n,c,h+1,w])-x[n,c,h,w])+abs(f32(x[n,c,h,w+1])-x[n,c,h,w]));
}
