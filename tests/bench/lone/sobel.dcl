model sobel {
  type E = f16;
  input x : E[16,1,1024,1024];
  output y[n,h,w] : E = sqrt(f32((x[n,0,h,w+1] or 0)-(x[n,0,h,w-1] or 0))*((x[n,0,h,w+1] or 0)-(x[n,0,h,w-1] or 0))+((x[n,0,h+1,w] or 0)-(x[n,0,h-1,w] or 0))*((x[n,0,h+1,w] or 0)-(x[n,0,h-1,w] or 0)));
}
