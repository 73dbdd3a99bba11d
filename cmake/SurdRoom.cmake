# surd_room(NAME [PROGRAM] SOURCES ... ROOMS ... LIBRARIES ...)
#
# One library a room: surd_NAME with Real = float and, if SURD_DOUBLE_BUILD, surd_NAME_f64 with Real = double from the
# same sources. ROOMS are the rooms below, LIBRARIES anything else, both public. A PROGRAM room serves the command line
# alone: its double library comes with surd-f64 (SURD_DOUBLE_PROGRAM), and nothing in it is worth the compiler's last
# optimisations.
function(surd_room name)
  cmake_parse_arguments(ROOM "PROGRAM" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
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
    if(ROOM_PROGRAM)
      surd_compile_quickly(${target})
    endif()
    surd_precompile(${target} rooms${suffix})
  endforeach()
endfunction()

# For what no training step waits for: a quarter of the compiler's time goes into optimisations that do not show there.
function(surd_compile_quickly target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# surd_precompile(TARGET KIND): what most sources of a kind include is parsed once. A missing #include does not show
# where these headers are; it does in ./dev lint, which builds without them.
#   base      the standard library, fmt and autograd/base
#   rooms     that, xtensor and JSON: Real = float; rooms_f64: double
#   tests     that and doctest; tests_f64
function(surd_precompile target kind)
  if(NOT SURD_PRECOMPILED_HEADERS)
    return()
  endif()
  set(owner surd_precompiled_${kind})
  if(NOT TARGET ${owner})
    set(headers <algorithm> <cmath> <filesystem> <fstream> <functional> <map> <memory> <optional> <set> <sstream> <string>
        <vector> ${PROJECT_SOURCE_DIR}/autograd/base/registry.hpp)
    file(WRITE ${CMAKE_BINARY_DIR}/precompiled_${kind}.cpp "")
    add_library(${owner} OBJECT ${CMAKE_BINARY_DIR}/precompiled_${kind}.cpp)
    target_link_libraries(${owner} PRIVATE surd_options surd_warnings fmt::fmt)
    target_include_directories(${owner} PRIVATE ${PROJECT_SOURCE_DIR})
    if(NOT kind STREQUAL "base")
      list(APPEND headers <nlohmann/json.hpp> ${PROJECT_SOURCE_DIR}/autograd/tensor.hpp)
    endif()
    if(kind MATCHES "^tests")
      list(APPEND headers <doctest/doctest.h>)
    endif()
    if(kind MATCHES "_f64$")
      target_compile_definitions(${owner} PRIVATE SURD_DOUBLE)
    endif()
    target_precompile_headers(${owner} PRIVATE ${headers})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${owner})
endfunction()
