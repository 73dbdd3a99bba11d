#pragma once

/// The files beside this one, as they were when the program was built.
namespace surd::report {

extern const char* const page;            ///< a mustache template: the report of a study
extern const char* const group;           ///< likewise: of a group of studies
extern const char* const charts_page;     ///< likewise: nothing but charts
extern const char* const chart_head;      ///< a part of templates: the head of a page with charts
extern const char* const charts;          ///< a part of templates, {{>charts}}: sections of charts with their tables
extern const char* const no_charts_note;  ///< likewise: said where charts are not drawn
extern const char* const scripts;         ///< likewise: their data, and what draws them
extern const char* const table;           ///< likewise: a table
extern const char* const badge;           ///< likewise: a verdict, not by colour alone
extern const char* const forest;          ///< likewise: a row a hypothesis, what was found against what was expected
extern const char* const css;
extern const char* const script;

extern const char* const built_chart_library;      ///< path in the build folder, "" where none was found
extern const char* const installed_chart_library;  ///< path relative to the prefix

}  // namespace surd::report
