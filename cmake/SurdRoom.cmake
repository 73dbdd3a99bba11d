# surd_room(NAME [PROGRAM] PRECOMPILED KIND SOURCES ... ROOMS ... LIBRARIES ...)
#
# One library a room: surd_NAME with Real = float and, if SURD_DOUBLE_BUILD, surd_NAME_f64 with Real = double from the
# same sources, for gradient checks, which do not wait for speed. ROOMS are the rooms below, LIBRARIES anything else, both
# public. A PROGRAM room serves the command line alone: its double library comes with surd-f64 (SURD_DOUBLE_PROGRAM).
function(surd_room name)
  cmake_parse_arguments(ROOM "PROGRAM" "PRECOMPILED" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  set(suffixes ":")
  if(SURD_DOUBLE_BUILD AND (SURD_DOUBLE_PROGRAM OR NOT ROOM_PROGRAM))
    list(APPEND suffixes ":_f64")
  endif()
  foreach(entry IN LISTS suffixes)
    string(SUBSTRING ${entry} 1 -1 suffix)
    set(target surd_${name}${suffix})
    add_library(${target} STATIC ${ROOM_SOURCES})
    target_link_libraries(${target} PUBLIC surd_options ${ROOM_LIBRARIES} PRIVATE surd_warnings)
    foreach(room IN LISTS ROOM_ROOMS)
      target_link_libraries(${target} PUBLIC surd_${room}${suffix})
    endforeach()
    if(suffix STREQUAL "_f64" AND name STREQUAL "autograd")
      target_compile_definitions(${target} PUBLIC SURD_DOUBLE)
    endif()
    if(ROOM_PROGRAM OR suffix STREQUAL "_f64")
      surd_compile_quickly(${target})
    endif()
    if(ROOM_PRECOMPILED STREQUAL "engine")
      surd_compile_well(${target})
    endif()
    surd_compile_together(${target})
    surd_precompile(${target} ${ROOM_PRECOMPILED}${suffix})
  endforeach()
endfunction()

# Eight sources at a time: they instantiate the same templates, and reading precompiled headers takes a second too. So
# the names in their unnamed namespaces differ within a room.
function(surd_compile_together target)
  if(SURD_UNITY_BUILD)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_link_libraries(${target} PRIVATE surd_warnings_together)
  endif()
endfunction()

# For what no training step waits for: a quarter of the compiler's time goes into optimisations that do not show there.
function(surd_compile_quickly target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# For where a training spends its time: with a sanitizer, tests take hours if this is compiled as quickly as the rest.
function(surd_compile_well target)
  if(SURD_SANITIZE)
    target_compile_options(${target} PRIVATE -O2)
  endif()
endfunction()

# surd_precompile(TARGET KIND): what most sources of a kind include is parsed once. A missing #include does not show
# where these headers are; it does in ./dev lint --each, which parses each source alone. A kind that ends in _f64 has
# Real = double.
set(surd_headers_base <algorithm> <cmath> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <sstream>
    <string> <vector> autograd/base/registry.hpp)
set(surd_headers_engine ${surd_headers_base} autograd/ops.hpp)
set(surd_headers_train ${surd_headers_engine} layers/transformer.hpp)
set(surd_headers_program ${surd_headers_train} experiments/run/run_config.hpp)
set(surd_headers_tests ${surd_headers_train} <doctest/doctest.h> train/train.hpp)
set(surd_headers_program_tests ${surd_headers_program} <doctest/doctest.h>)

function(surd_precompile target kind)
  if(NOT SURD_PRECOMPILED_HEADERS)
    return()
  endif()
  set(owner surd_precompiled_${kind})
  if(NOT TARGET ${owner})
    string(REGEX REPLACE "_f64$" "" headers "${kind}")
    set(headers ${surd_headers_${headers}})
    list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/ REGEX "^[^<]")
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled_${kind}.cpp "")
    add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/precompiled_${kind}.cpp)
    target_link_libraries(${owner} PRIVATE surd_options surd_warnings fmt::fmt)
    target_include_directories(${owner} PRIVATE ${PROJECT_SOURCE_DIR})
    if(kind MATCHES "_f64$")
      target_compile_definitions(${owner} PRIVATE SURD_DOUBLE)
    endif()
    if(kind MATCHES "^engine")  # as its users, or it is of no use to them
      surd_compile_well(${owner})
    endif()
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
