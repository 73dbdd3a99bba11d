#include "experiments/interop/model_file.hpp"

#include "experiments/program/version.hpp"
#include "experiments/run/checkpoint_metadata.hpp"
#include "train/storage/safetensors.hpp"

#include <charconv>
#include <iterator>
#include <string_view>

namespace surd {
namespace {

constexpr const char* config_key = "surd_config";
constexpr std::string_view vocabulary_prefix = "vocabulary/";

/// Metadata are text; models of SentencePiece are not.
bool is_binary(const std::string& name) { return name.size() > 6 && name.substr(name.size() - 6) == ".model"; }

std::string to_digits(const std::string& bytes) {
  std::string digits;
  digits.reserve(2 * bytes.size());
  for (const char byte : bytes) fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned char>(byte));
  return digits;
}

std::string from_digits(const std::string& digits, const std::string& where) {
  expect(digits.size() % 2 == 0, where, "is no hexadecimal text; the file is damaged");
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    unsigned char byte = 0;
    const auto read = std::from_chars(digits.data() + i, digits.data() + i + 2, byte, 16);
    expect(read.ec == std::errc() && read.ptr == digits.data() + i + 2, where,
           "is no hexadecimal text; the file is damaged");
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace

std::string encode_model(const OpenRun& run) {
  TensorFileView view;
  view.metadata = checkpoint_metadata(run.config, run.codec);
  view.metadata.insert({{config_key, to_yaml(run.config)}, {"surd_version", version()}, {"git_commit", git_commit()}});
  for (const auto& [name, bytes] : run.codec.files())
    view.metadata[std::string(vocabulary_prefix) + name] = is_binary(name) ? to_digits(bytes) : bytes;
  for (const Parameter& parameter : run.model.parameters()) view.tensors.emplace_back(parameter.name, &parameter.value);
  return encode_safetensors(view);
}

ImportedRun decode_model(const std::string& path) {
  TensorFile file = read_safetensors(path);
  const auto config = file.metadata.find(config_key);
  expect(config != file.metadata.end(), path,
         "has no '{}' among its metadata, so it is not what surd export --format safetensors writes; a checkpoint of a "
         "run is used in its folder, and a model of another tool is imported as the folder it lies in",
         config_key);
  ImportedRun run;
  run.origin = path;
  expect_whole_config(config->second, path + ": " + config_key);
  for (const char* name : {"source.txt", "target.txt"})
    expect(file.metadata.count(std::string(vocabulary_prefix) + name) > 0, path, "has no '{}{}' among its metadata",
           vocabulary_prefix, name);
  run.config = ConfigFile(YamlDocument::parse(config->second, path + ": " + config_key)).config;
  for (const auto& [key, text] : file.metadata) {
    if (key.rfind(vocabulary_prefix, 0) != 0) continue;
    const std::string name = key.substr(vocabulary_prefix.size());
    expect(name.find('/') == std::string::npos && name != "..", path, "names a vocabulary '{}'; the file is damaged",
           name);
    run.vocabulary[name] = is_binary(name) ? from_digits(text, path + ": " + key) : text;
  }
  run.parameters = std::move(file.tensors);
  return run;
}

}  // namespace surd
