#include "experiments/config/report_errors.hpp"

#include "experiments/config/config_error.hpp"
#include "experiments/program/exit_code.hpp"
#include "experiments/program/text_format.hpp"
#include "experiments/program/usage_error.hpp"

#include <new>

namespace surd {

int report_errors(const std::function<int()>& work) {
  try {
    return work();
  } catch (const ConfigError& error) {
    to_stderr("{}\n", error.what());
    return exit_usage;
  } catch (const UsageError& error) {
    to_stderr("error: {}\n", error.what());
    return exit_usage;
  } catch (const std::bad_alloc&) {
    to_stderr("error: there is not enough memory; a smaller model, batch or corpus needs less\n");
  } catch (const std::exception& error) {
    to_stderr("error: {}\n", error.what());
  }
  return exit_failed;
}

}  // namespace surd
