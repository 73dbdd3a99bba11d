#pragma once

#include "train/ranks/transport.hpp"

#include <memory>

namespace surd {

/// The processes that mpirun has started, each of them a rank. There is one such object in a program, which begins and
/// ends MPI. Null where the program was built without MPI.
std::unique_ptr<Transport> mpi_transport();

/// Ends all these processes at once.
[[noreturn]] void abort_ranks(int code);

}  // namespace surd
