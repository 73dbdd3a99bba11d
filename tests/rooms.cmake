# The test files of each room.
foreach(room autograd data layers train experiments)
  include(${CMAKE_CURRENT_SOURCE_DIR}/${room}/tests.cmake OPTIONAL)
endforeach()
