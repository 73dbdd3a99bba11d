# How every target of the project is compiled.

# C++17, not 20: xtensor 0.24 reads out of bounds in immediate reductions when g++ 12 compiles it as C++20
# (tests/autograd/xtensor_test.cpp keeps watch).
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(SURD_BUILD_TESTS "Build the tests" ON)
option(SURD_DOUBLE_BUILD "Also build the engine, layers and training with Real = double (the gradient tests)" ON)
option(SURD_DOUBLE_PROGRAM "With SURD_DOUBLE_BUILD: the program in double precision, surd-f64" OFF)
option(SURD_PRECOMPILED_HEADERS "Parse what most files include once" ON)
option(SURD_UNITY_BUILD "Compile several sources of a room at a time" ON)
set(SURD_ARCHITECTURE "native" CACHE STRING "Value of -march; SIMD width follows from it")
option(SURD_MPI "Train one model with several processes (surd train --ranks); needs MPI" OFF)
option(SURD_FUZZ "Build the fuzz targets; needs clang" OFF)
set(SURD_SANITIZE "" CACHE STRING "Value of -fsanitize, e.g. address,undefined")

# Everything that sees xtensor or xsimd must agree on these, so they are part of the interface of every room.
add_library(surd_options INTERFACE)
target_compile_definitions(surd_options INTERFACE XTENSOR_USE_XSIMD)
target_compile_features(surd_options INTERFACE cxx_std_17)
if(SURD_ARCHITECTURE)
  target_compile_options(surd_options INTERFACE -march=${SURD_ARCHITECTURE})
endif()
if(SURD_SANITIZE)
  target_compile_options(surd_options INTERFACE -fsanitize=${SURD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(surd_options INTERFACE -fsanitize=${SURD_SANITIZE})
endif()

# Warnings are for this project's own targets. Those that are off fire inside g++ 12's AVX-512 intrinsics and fmt.
add_library(surd_warnings INTERFACE)
target_compile_options(surd_warnings INTERFACE -Wall -Wextra -Wshadow -Wpedantic)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(surd_warnings INTERFACE -Wno-maybe-uninitialized -Wno-uninitialized -Wno-stringop-overflow)
endif()

# A name of one file may hide one of another that is compiled with it. The preset dev still looks file by file.
add_library(surd_warnings_together INTERFACE)
target_compile_options(surd_warnings_together INTERFACE -Wno-shadow)
