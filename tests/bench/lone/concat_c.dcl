model concat_c {
  type E = f16;
  input a : E[32,128,56,56];
  input b : E[32,64,56,56];
  output y = concat(a, b, axis=1);
}
