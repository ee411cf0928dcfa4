/* a model
 */
model m {
  input x : f32[4];
  output y = x /* twice */ * 2;
}
