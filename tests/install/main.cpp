#include <heed/tensor/creation.h>

#include <iostream>

// A generic name of the program's own, which heed's headers must not shadow.
#include "tensor/shape.h"

int main() {
  const heed::Tensor x = heed::ones({2, 3});
  std::cout << "heed answers " << x.numel() << '\n';
  return x.numel() == 6 ? shape_of_the_consumer : 1;
}
