surd_tests(experiments
  FLOAT
    analysis_test.cpp
    command_line_test.cpp
    configs_test.cpp
    describe_options_test.cpp
    fault_test.cpp
    house_test.cpp
    inference_test.cpp
    layout_test.cpp
    presets_test.cpp
    read_options_test.cpp
    report_fixture.cpp
    report_test.cpp
    resume_test.cpp
    run_files_test.cpp
    statistics_test.cpp
    study_checks_test.cpp
    study_export_test.cpp
    study_metrics_test.cpp
    study_plan_test.cpp
    study_reading_test.cpp
    study_running_test.cpp
    write_options_test.cpp
    wrong_configs_test.cpp
    yaml_document_test.cpp)

# The report in a real browser, where there is one.
find_program(SYSTEM_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)  # whose selenium is Debian's
find_program(CHROMIUM NAMES chromium chromium-browser google-chrome)
find_program(CHROMEDRIVER chromedriver)
if(SYSTEM_PYTHON AND CHROMIUM AND CHROMEDRIVER)
  execute_process(COMMAND ${SYSTEM_PYTHON} -c "import selenium" RESULT_VARIABLE no_selenium OUTPUT_QUIET ERROR_QUIET)
  if(no_selenium EQUAL 0 AND PLOTLY_SOURCE)
    add_executable(write_report experiments/write_report.cpp experiments/report_fixture.cpp)
    target_link_libraries(write_report PRIVATE surd_experiments surd_warnings)
    surd_share_precompiled_header(write_report "")
    add_test(NAME report_browser
      COMMAND ${SYSTEM_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/report_browser.py --write $<TARGET_FILE:write_report>
              --chromium ${CHROMIUM} --driver ${CHROMEDRIVER} ${CMAKE_CURRENT_BINARY_DIR}/report-fixture)
    set_tests_properties(report_browser PROPERTIES LABELS experiments TIMEOUT 300)
  endif()
endif()
