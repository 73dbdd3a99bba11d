# Run at build time (cmake -P), so that the commit is that of the build and not of the last configuration. Rewrites the
# file only when something changed.
execute_process(COMMAND git describe --always --abbrev=12 --exclude=*
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE SURD_GIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE failed)
# No program is made of docs/, where a benchmark writes its page: its next part must still be of the same program.
execute_process(COMMAND git diff --quiet HEAD -- . :!docs WORKING_DIRECTORY ${SOURCE} ERROR_QUIET
  RESULT_VARIABLE modified)
if(failed)
  set(SURD_GIT_COMMIT "unknown")
elseif(modified)
  string(APPEND SURD_GIT_COMMIT "-modified")
endif()
configure_file(${SOURCE}/experiments/program/version.cpp.in ${OUTPUT} @ONLY)
