# The report's templates, style and script as a library of strings, and the plotly.js that is put into each report.
include(GNUInstallDirs)
find_path(MUSTACHE_INCLUDE_DIR kainjow/mustache.hpp REQUIRED)

# Debian's python3-plotly has the full, readable file; other packages of plotly.py have plotly.min.js.
find_file(PLOTLY_SOURCE NAMES plotly-basic.min.js plotly.min.js plotly.js
  PATHS /usr/share/python3-plotly /usr/lib/python3/dist-packages/plotly/package_data NO_DEFAULT_PATH)
find_program(ESBUILD esbuild)
set(REPORT_CHART_LIBRARY "")
if(PLOTLY_SOURCE)
  set(REPORT_CHART_LIBRARY ${CMAKE_CURRENT_BINARY_DIR}/plotly.min.js)
  if(ESBUILD)  # 8.7 MB become 3.8; the head of the file is its licence
    file(READ ${PLOTLY_SOURCE} plotly_licence LIMIT 300)
    string(REGEX MATCH "^/\\*[^/]*\\*/" plotly_licence "${plotly_licence}")
    string(REGEX REPLACE "[ \n*/]+" " " plotly_licence "${plotly_licence}")
    set(write_plotly ${ESBUILD} --minify --log-level=error "--banner:js=/*!${plotly_licence}*/"
        --outfile=${REPORT_CHART_LIBRARY} ${PLOTLY_SOURCE})
  else()
    set(write_plotly ${CMAKE_COMMAND} -E copy ${PLOTLY_SOURCE} ${REPORT_CHART_LIBRARY})
  endif()
  add_custom_command(OUTPUT ${REPORT_CHART_LIBRARY} COMMAND ${write_plotly} DEPENDS ${PLOTLY_SOURCE} VERBATIM)
  install(FILES ${REPORT_CHART_LIBRARY} DESTINATION ${CMAKE_INSTALL_DATADIR}/surd)
else()
  message(STATUS "plotly.js not found (Debian: python3-plotly): reports of studies will have tables only")
endif()

foreach(asset PAGE:template.html GROUP:group.html CHARTS_PAGE:charts_page.html CHART_HEAD:chart_head.html CHARTS:charts.html
    NO_CHARTS_NOTE:no_charts_note.html SCRIPTS:scripts.html TABLE:table.html BADGE:badge.html FOREST:forest.html CSS:report.css SCRIPT:report.js)
  string(REGEX MATCH "(.*):(.*)" matched ${asset})
  set(name REPORT_${CMAKE_MATCH_1})
  set(file ${CMAKE_CURRENT_LIST_DIR}/${CMAKE_MATCH_2})
  file(READ ${file} ${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/assets.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/report_assets.cpp @ONLY)

add_library(surd_report_assets STATIC ${CMAKE_CURRENT_BINARY_DIR}/report_assets.cpp ${REPORT_CHART_LIBRARY})
target_include_directories(surd_report_assets PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
