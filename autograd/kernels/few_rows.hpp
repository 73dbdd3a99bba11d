#pragma once

#include "autograd/kernels/product.hpp"

#include <cstddef>

namespace surd::kernels {

/// Up to how many rows multiply_few_rows() is faster than packing B. Adding up the parts of an element takes as long
/// for a short sum as for a long one.
inline std::size_t few_rows(std::size_t k) { return k < 128 ? 6 : 12; }

/// The product of A [m, k] and the transpose of B [n, k]. B is read as it stands, so an element is a sum of as many
/// parts as a register holds.
void multiply_few_rows(const Product& product);

}  // namespace surd::kernels
