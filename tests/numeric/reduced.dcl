// Products of which only what their rows come to is wanted.

// the least of each row, in pieces that the tiles have
model nearest_distance {
  input x : f32[1030,5];
  input c : f32[528,5];
  d[n,k] = sum(j) (x[n,j]-c[k,j])*(x[n,j]-c[k,j]);
  output m[n] = min(k) d[n,k];
}

// where it is, of columns that are no whole pieces
model nearest {
  input x : f32[1000,4];
  input c : f32[547,4];
  d[n,k] = sum(j) (x[n,j]-c[k,j])*(x[n,j]-c[k,j]);
  output a[n] = argmin(k) d[n,k];
}

// sums of a function of each, times a value of the column
model kernel_sum {
  input x : f32[1024,3];
  input z : f32[520,3];
  input a : f32[520];
  k[i,j] = exp(-0.5*sum(d) (x[i,d]-z[j,d])*(x[i,d]-z[j,d]));
  output y[i] = sum(j) k[i,j]*a[j];
}

// both by one product of 16 bits; a few of its results besides
model contrast {
  input x : f16[1024,16];
  input y : f16[520,16];
  input t : i32[1024] in 0..520;
  s[i,j] : f32 = 3.0*sum(d) x[i,d]*y[j,d];
  m[i] = max(j) s[i,j];
  z[i] = sum(j) exp(s[i,j]-m[i]);
  output l[] = mean(i) (log(z[i])+m[i]-s[i,t[i]]);
}

// a softmax that nobody stores, but for its diagonal
model diagonal {
  input x : f16[768,16];
  input y : f16[768,16];
  s[i,j] : f32 = sum(d) x[i,d]*y[j,d];
  l = log_softmax(s);
  output o[] = -mean(i) l[i,i];
}

// a batch of them
model batched {
  input a : f32[2,700,3];
  input b : f32[2,500,3];
  d[n,i,j] = sum(c) abs(a[n,i,c]-b[n,j,c]);
  m[n,i] = min(j) d[n,i,j];
  output y[n] = mean(i) m[n,i];
}

// f16 all the way, and the maximum is stored so
model tokens {
  input x : f16[512,16];
  input w : f16[1088,16];
  input t : i32[512] in 0..1088;
  s = log_softmax(linear(x, w));
  output l[] : f32 = -mean(i) s[i,t[i]];
}

// along both of the results' dimensions
model both_ways {
  input a : f32[2,600,3];
  input b : f32[2,500,3];
  d[n,i,j] = sum(c) (a[n,i,c]-b[n,j,c])*(a[n,i,c]-b[n,j,c]);
  output y[n] = (mean(i) min(j) d[n,i,j]) + (mean(j) min(i) d[n,i,j]);
}

// beside what others read, too, and stands ahead of the product
model both_ways_beside {
  input r : f32[2,600,500];
  input a : f32[2,600,3];
  input b : f32[2,500,3];
  d[n,i,j] = r[n,i,j] + sum(c) a[n,i,c]*b[n,j,c];
  output y[n] = (mean(i) min(j) d[n,i,j]) + (mean(j) min(i) d[n,i,j]);
  output z[n,i] = max(j) r[n,i,j];
}

// and of values that are made of them; their diagonal besides
model pairs {
  input a : f16[768,16];
  input b : f16[768,16];
  na[i] : f32 = rsqrt(sum(d) f32(a[i,d])*a[i,d]);
  nb[i] : f32 = rsqrt(sum(d) f32(b[i,d])*b[i,d]);
  s[i,j] : f32 = 4.0*na[i]*nb[j]*sum(d) a[i,d]*b[j,d];
  r[i] = log(sum(j) exp(s[i,j]-4.0)) - s[i,i];
  c[j] = log(sum(i) exp(s[i,j]-4.0)) - s[j,j];
  output l[] = (mean(i) r[i]) + (mean(j) c[j]);
}

// columns of several indices, reduced along the fastest
model bilinear {
  input x : f16[72,64];
  param w : f16[30,64,256];
  input z : f16[72,256];
  output y[n,o] = sum(i,j) x[n,i] * w[o,i,j] * z[n,j];
}

// what a product has as rows
model points {
  input x : f16[10,512,16];
  param w : f16[120,16];
  h[b,n,o] : f16 = relu(sum(k) x[b,n,k]*w[o,k]);
  output y[b,o] = max(n) h[b,n,o];
}
