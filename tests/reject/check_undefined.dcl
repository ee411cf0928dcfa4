model m {
  input image : f32[4];
  h = imgae * 2;
  k[i] = image[i] + hh[i] + j;
  output y = rleu(h) + nothing;
}
