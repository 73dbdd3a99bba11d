#include "experiments/config/config_error.hpp"
#include "experiments/config/read_options.hpp"
#include "experiments/run/run_config.hpp"

#include <cstdlib>

namespace {

surd::RunConfig read(const std::string& text, const std::string& setting) {
  surd::YamlDocument document = surd::YamlDocument::parse(text, "fuzz.yaml");
  if (!setting.empty()) document.set(setting);
  surd::RunConfig config;
  surd::read_options(document, config);
  return config;
}

}  // namespace

/// A config that is accepted can be written, and is then accepted and written as the same bytes. What follows "\n@@" is
/// given as --set would be.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(bytes), size), setting;
  if (text.find("extends") != std::string::npos) return 0;  // would read files
  if (const auto mark = text.find("\n@@"); mark != std::string::npos) {
    setting = text.substr(mark + 3);
    text.resize(mark);
  }
  std::string written;
  try {
    written = surd::to_yaml(read(text, setting));
  } catch (const surd::ConfigError&) {
    return 0;
  }
  if (surd::to_yaml(read(written, "")) != written) std::abort();
  return 0;
}
