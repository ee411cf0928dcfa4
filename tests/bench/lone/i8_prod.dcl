model i8_prod {
  type E = f16;
  input a : i8[1024,1024];
  input b : i8[1024,1024];
  input sa : f32[1024];
  input sb : f32[1024];
  output y[i,j] : E = (sum(k) a[i,k]*b[j,k])*sa[i]*sb[j];
}
