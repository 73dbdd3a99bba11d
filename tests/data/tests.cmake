surd_tests(data FLOAT
  batch_test.cpp
  batcher_test.cpp
  dataset_test.cpp
  tasks/dates_test.cpp
  tasks/grammar_test.cpp
  lines_test.cpp
  tasks/parallel_text_test.cpp
  tasks/synthetic_test.cpp
  tasks/text_test.cpp
  task_test.cpp
  text_test.cpp
  tokenizer_test.cpp
  vocabulary_test.cpp)
