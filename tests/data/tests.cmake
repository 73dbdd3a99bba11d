surd_tests(data FLOAT
  batch_test.cpp
  batcher_test.cpp
  dataset_test.cpp
  dates_test.cpp
  grammar_test.cpp
  lines_test.cpp
  parallel_text_test.cpp
  synthetic_test.cpp
  task_test.cpp
  text_test.cpp
  vocabulary_test.cpp)
