#pragma once

#include "autograd/tensor.hpp"

#include <cstddef>

namespace surd::kernels {

/// to[l][j] = b[j][l] for j < columns and l < k, with `width` elements, a multiple of a register's, from one row of
/// `to` to the next. Beyond `columns` > 0 stand copies of the last one.
void transpose_panel(const Real* b, std::size_t ldb, std::size_t columns, std::size_t k, Real* to, std::size_t width);

}  // namespace surd::kernels
