# Run at build time (cmake -P), so that the commit is that of the build and not of the last configuration. Rewrites the
# file only when something changed.
execute_process(COMMAND git describe --always --dirty=-modified --abbrev=12 --exclude=*
  WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE SURD_GIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET
  RESULT_VARIABLE failed)
if(failed)
  set(SURD_GIT_COMMIT "unknown")
endif()
configure_file(${SOURCE}/experiments/program/version.cpp.in ${OUTPUT} @ONLY)
