surd_tests(program IN experiments LIBRARY commands FLOAT
  command_line/arguments_test.cpp
  program/layout_test.cpp
  program/waiting_test.cpp)
surd_tests(config IN experiments/config LIBRARY run FLOAT
  describe_options_test.cpp
  read_options_test.cpp
  schema_test.cpp
  write_options_test.cpp
  yaml_document_test.cpp)
surd_tests(run IN experiments/run LIBRARY commands FLOAT
  configs_test.cpp
  fault_test.cpp
  from_docs_test.cpp
  golden_presets_test.cpp
  presets_test.cpp
  resume_test.cpp
  run_data_test.cpp
  run_files_test.cpp
  tensorboard_test.cpp
  checkpoint_metadata_test.cpp
  unknown_tokens_test.cpp)
surd_tests(study IN experiments/study LIBRARY commands FLOAT
  analysis_test.cpp
  comparisons_test.cpp
  decidability_test.cpp
  execution/attempt_test.cpp
  execution/leases_test.cpp
  execution/work_command_test.cpp
  execution/workers_test.cpp
  pilot_test.cpp
  report/forest_test.cpp
  report/report_test.cpp
  report/run_curves_test.cpp
  statistics_test.cpp
  study_arms_test.cpp
  study_checks_test.cpp
  study_errors_test.cpp
  study_export_test.cpp
  study_hypothesis_errors_test.cpp
  study_metrics_test.cpp
  study_output_test.cpp
  study_plan_test.cpp
  study_publish_test.cpp
  study_reading_test.cpp
  study_reuse_test.cpp
  study_running_test.cpp
  tuning_metrics_test.cpp)
# A file system for LD_PRELOAD, which no sanitizer may look into.
add_library(surd_file_system MODULE experiments/study/execution/file_system.cpp)
target_link_libraries(surd_file_system PRIVATE surd_warnings ${CMAKE_DL_LIBS})
target_compile_options(surd_file_system PRIVATE -fno-sanitize=all)
add_dependencies(test_study surd_file_system)
target_compile_definitions(test_study PRIVATE SURD_FILE_SYSTEM="$<TARGET_FILE:surd_file_system>")
add_library(surd_report_fixture STATIC experiments/study/report/report_fixture.cpp)
target_link_libraries(surd_report_fixture PUBLIC surd_study PRIVATE surd_warnings)
surd_compile_quickly(surd_report_fixture)
surd_precompile(surd_report_fixture program)
target_link_libraries(test_study PRIVATE surd_report_fixture)

surd_tests(interop IN experiments/interop LIBRARY commands FLOAT
  causal_export_test.cpp
  interop_test.cpp)
surd_tests(commands IN experiments/commands FLOAT
  alignment_test.cpp
  bench_products_test.cpp
  changed_run_test.cpp
  command_line_test.cpp
  command_table_test.cpp
  curves_test.cpp
  decoder_only_test.cpp
  first_hour_test.cpp
  inference_test.cpp
  list_runs_test.cpp
  metrics_test.cpp
  product_fit_test.cpp
  shell_test.cpp
  show_test.cpp
  terminal_test.cpp
  text_pairs_test.cpp
  text_run_test.cpp
  wrong_configs_test.cpp)

find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)  # whose packages are Debian's
if(SYSTEM_PYTHON)
  add_test(NAME answers COMMAND ${SYSTEM_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/study/answers_test.py)
  set_tests_properties(answers PROPERTIES LABELS experiments)
  # What other tools read of surd's files, and surd of theirs. ./dev interop installs these into an environment of its
  # own; without them the scripts say so.
  find_program(INTEROP_PYTHON python3 PATHS ${PROJECT_SOURCE_DIR}/build/interop/bin NO_DEFAULT_PATH)
  set(python $<IF:$<BOOL:${INTEROP_PYTHON}>,${INTEROP_PYTHON},${SYSTEM_PYTHON}>)
  add_test(NAME transformers
    COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/interop/transformers_test.py $<TARGET_FILE:surd>)
  add_test(NAME tensorboard
    COMMAND ${python} ${CMAKE_CURRENT_LIST_DIR}/run/tensorboard_reader.py $<TARGET_FILE:surd>
            ${CMAKE_CURRENT_BINARY_DIR}/tensorboard)
  set_tests_properties(transformers tensorboard PROPERTIES LABELS experiments SKIP_RETURN_CODE 77)
  add_test(NAME schemas COMMAND ${SYSTEM_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/config/schemas_test.py $<TARGET_FILE:surd>)
  set_tests_properties(schemas PROPERTIES LABELS experiments SKIP_RETURN_CODE 77)  # without python3-jsonschema
  if(NOT SURD_SANITIZE)
    add_test(NAME tutorial
      COMMAND ${CMAKE_CURRENT_LIST_DIR}/tutorial/run.sh ${PROJECT_SOURCE_DIR} $<TARGET_FILE_DIR:surd>)
    set_tests_properties(tutorial PROPERTIES LABELS experiments)
  endif()
endif()

# The report in a real browser, where there is one.
find_program(CHROMIUM NAMES chromium chromium-browser google-chrome)
find_program(CHROMEDRIVER chromedriver)
if(SYSTEM_PYTHON AND CHROMIUM AND CHROMEDRIVER)
  execute_process(COMMAND ${SYSTEM_PYTHON} -c "import selenium" RESULT_VARIABLE no_selenium OUTPUT_QUIET ERROR_QUIET)
  if(no_selenium EQUAL 0 AND PLOTLY_SOURCE)
    add_executable(write_report experiments/study/report/write_report.cpp)
    target_link_libraries(write_report PRIVATE surd_report_fixture surd_warnings)
    add_test(NAME report_browser
      COMMAND ${SYSTEM_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/study/report/report_browser.py --write $<TARGET_FILE:write_report>
              --surd $<TARGET_FILE:surd> --results ${PROJECT_SOURCE_DIR}/experiments/results
              --chromium ${CHROMIUM} --driver ${CHROMEDRIVER} ${CMAKE_CURRENT_BINARY_DIR}/report-fixture)
    set_tests_properties(report_browser PROPERTIES LABELS experiments TIMEOUT 600 SKIP_RETURN_CODE 77)
  endif()
endif()
