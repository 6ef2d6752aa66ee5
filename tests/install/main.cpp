#include <heed/tensor/error.h>

#include <iostream>

// A generic name of the program's own, which heed's headers must not shadow.
#include "tensor/shape.h"

int main() {
  try {
    heed::fail("consumer", "heed answers");
  } catch (const std::invalid_argument& error) {
    std::cout << error.what() << '\n';
    return shape_of_the_consumer;
  }
}
