model concat_last {
  type E = f16;
  input a : E[32768,200];
  input b : E[32768,312];
  output y = concat(a, b, axis=-1);
}
