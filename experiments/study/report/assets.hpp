#pragma once

/// The files beside this one, as they were when the program was built.
namespace surd::report {

extern const char* const page;  ///< a mustache template
extern const char* const css;
extern const char* const script;

extern const char* const built_chart_library;      ///< path in the build folder, "" where none was found
extern const char* const installed_chart_library;  ///< path relative to the prefix

}  // namespace surd::report
