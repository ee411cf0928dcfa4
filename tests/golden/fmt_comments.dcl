// head

// about f


// doc f
op f(x: T[..], // inside head
     y: T[..]) // after head
 -> z { // open
    // first
    z[..] = x[..] // why x
       + y[..]; // why y


    // last
} // end f
model m { // m
 dim A = 1; dim B = 2; // sizes
 @nofuse @tile(m = 3, n = 4) y = f(A, B); // n
 if (A == 1) { y = y; } // one
 else { y = y; }
 if (A == 1) { y = y; // two
 } else if (B == 2) { y = y + 1; } else { // three
   y = y + 2;
 }
 for i in 0..3 { }
 for i in 0..3 {
   // nothing
 }
 output y; /// doubled
 @fuse(a)
 // odd
 q = 3; }
// tail

// tail2
