#include "train/storage/checkpoint.hpp"

#include "train/storage/files.hpp"
#include "train/storage/json_object.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>

namespace surd {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* real_name = sizeof(Real) == 4 ? "float" : "double";
constexpr const char* format = "surd-checkpoint-1";
constexpr const char* prefix = "update-";
constexpr const char* suffix = ".safetensors";
constexpr const char* interrupted_suffix = ".interrupted.safetensors";
constexpr const char* way_out = "the file was changed by hand: remove it, and --resume uses the one before it";
constexpr const char* slot_prefix = "optimizer.";

std::string slot_name(const Optimizer::Slot& slot, const Parameter& parameter) {
  return fmt::format("{}{}.{}", slot_prefix, slot.name, parameter.name);
}

Json to_json(const TrainState& state) {
  return {{"update", state.update},
          {"epoch", state.epoch},
          {"next_batch", state.next_batch},
          {"target_tokens", state.target_tokens},
          {"best", state.best ? Json(*state.best) : Json()},
          {"best_update", state.best_update},
          {"evaluations_without_improvement", state.evaluations_without_improvement},
          {"evaluations_good_enough", state.evaluations_good_enough},
          {"finished", state.finished}};
}

TrainState state_from(const JsonObject& json) {
  TrainState state;
  state.update = json.count("update");
  state.epoch = json.count("epoch");
  state.next_batch = json.count("next_batch");
  state.target_tokens = json.count("target_tokens");
  if (!json.is_null("best")) state.best = json.real("best");
  state.best_update = json.count("best_update");
  state.evaluations_without_improvement = json.count("evaluations_without_improvement");
  if (json.has("evaluations_good_enough"))  // not written by older versions
    state.evaluations_good_enough = json.count("evaluations_good_enough");
  state.finished = json.truth("finished");
  return state;
}

const Tensor& stored(const TensorFile& file, const std::string& path, const std::string& name, const Shape& shape) {
  const auto found = file.tensors.find(name);
  expect(found != file.tensors.end(), path, "has no tensor '{}': it is of another model", name);
  expect(found->second.shape() == shape, path, "'{}' has shape {}, the model's has {}: it is of another model", name,
         found->second.shape(), shape);
  return found->second;
}

void expect_model(const TensorFile& file, const std::string& path, const ParameterSet& parameters) {
  std::set<std::string> names;
  for (const Parameter& parameter : parameters) {
    stored(file, path, parameter.name, parameter.value.shape());
    names.insert(parameter.name);
  }
  for (const auto& [name, tensor] : file.tensors)
    expect(names.count(name) > 0 || is_optimizer_slot(name), path,
           "has a tensor '{}', the model has none: it is of another model", name);
}

void expect_optimizer(const TensorFile& file, const std::string& path, const ParameterSet& parameters,
                      const Optimizer& optimizer) {
  for (const Optimizer::Slot& slot : optimizer.slots())
    for (const Parameter& parameter : parameters)
      stored(file, path, slot_name(slot, parameter), slot.tensors[parameter.index].shape());
  expect(file.tensors.size() == parameters.size() * (1 + optimizer.slots().size()), path,
         "holds tensors that the optimizer does not: it is of another one");
}

void restore_parameters(const TensorFile& file, ParameterSet& parameters) {
  for (Parameter& parameter : parameters) parameter.value = file.tensors.at(parameter.name);
}

}  // namespace

void Checkpoints::save(const ParameterSet& parameters, const Optimizer& optimizer, const Schedule& schedule,
                       const TrainState& state, const std::string& log_position, bool best, bool interrupted) const {
  TensorFileView view;
  view.metadata = {{"format", format},
                   {"real", real_name},
                   {"state", to_json(state).dump()},
                   {"schedule", Json(schedule.state()).dump()},
                   {"optimizer_updates", std::to_string(optimizer.updates())},
                   {"log_position", log_position}};
  view.metadata.insert(metadata_.begin(), metadata_.end());
  for (const Parameter& parameter : parameters) view.tensors.emplace_back(parameter.name, &parameter.value);
  for (const Optimizer::Slot& slot : optimizer.slots())
    for (const Parameter& parameter : parameters)
      view.tensors.emplace_back(slot_name(slot, parameter), &slot.tensors[parameter.index]);
  const std::string bytes = encode_safetensors(view);
  const std::string name = fmt::format("{}{:08}{}", prefix, state.update, interrupted ? interrupted_suffix : suffix);
  const std::string latest = (fs::path(folder_) / name).string();
  write_file_atomically(latest, bytes);
  std::size_t kept = 0;
  for (const std::string& path : newest_first()) {
    // Later ones are damaged: the run went back before them.
    const bool passed = path > latest || (path != latest && fs::path(path).stem().has_extension());  // ".interrupted"
    const bool keep = !passed && kept++ < keep_;
    std::error_code ignored;  // one too many does no harm
    if (!keep) fs::remove(path, ignored);
  }
  // Last: if it fails, resume() goes on from `latest` and makes up for it.
  if (best) write_file_atomically(best_file(), bytes);
}

void Checkpoints::expect_space(const ParameterSet& parameters, const Optimizer& optimizer,
                               std::size_t most_saves) const {
  constexpr std::uint64_t header_bytes_a_tensor = 256;
  const std::uint64_t copies = 1 + optimizer.slots().size();
  const auto one = static_cast<double>(
      copies * (parameters.element_count() * sizeof(Real) + parameters.size() * header_bytes_a_tensor));
  double held = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error))
    if (entry.is_regular_file(error)) held += static_cast<double>(fs::file_size(entry.path(), error));
  const std::size_t kept = std::min(keep_, most_saves);
  const double needed = (static_cast<double>(kept) + 2) * one - held;
  const auto available = static_cast<double>(available_bytes(folder_));
  if (needed <= available) return;
  constexpr double megabyte = 1e6;
  throw NoSpace(fmt::format(
      "{}: the run's checkpoints need {:.1f} MB more ({} kept, the best and one being written, {:.1f} MB each), but "
      "{:.1f} MB are free; make room, or use another --out or a smaller train.keep_checkpoints",
      folder_, needed / megabyte, kept, one / megabyte, available / megabyte));
}

std::string Checkpoints::best_file() const { return (fs::path(folder_) / "best.safetensors").string(); }

std::vector<std::string> Checkpoints::newest_first() const {
  std::vector<std::string> paths;
  for (const std::string& name : names_in(folder_))
    if (name.rfind(prefix, 0) == 0 && fs::path(name).extension() == suffix)
      paths.push_back((fs::path(folder_) / name).string());
  std::reverse(paths.begin(), paths.end());  // the numbers have leading zeros
  return paths;
}

std::optional<Checkpoints::Saved> Checkpoints::resume(ParameterSet& parameters, Optimizer& optimizer,
                                                      Schedule& schedule,
                                                      const std::function<void(const std::string&)>& warn, bool writes,
                                                      const Check& check) const {
  auto paths = newest_first();
  if (path_exists(best_file())) paths.push_back(best_file());
  if (paths.empty()) return std::nullopt;
  for (const std::string& path : paths) {
    TensorFile file;
    std::string bytes;
    try {
      bytes = read_file(path);
      file = decode_safetensors(bytes, path);
    } catch (const Error& error) {
      warn(error.what());
      continue;
    }
    expect(file.metadata["format"] == format, path, "is not a checkpoint of this version ({})", format);
    expect(file.metadata["real"] == real_name, path, "was trained in {}, this program computes in {}",
           file.metadata["real"], real_name);
    if (check) check(path, file.metadata);
    expect_model(file, path, parameters);
    expect_optimizer(file, path, parameters, optimizer);
    const auto text = [&](const char* key) {
      const auto found = file.metadata.find(key);
      expect(found != file.metadata.end(), path, "its metadata have no '{}'; {}", key, way_out);
      return found->second;
    };
    const Saved saved{state_from({text("state"), path + ": state", way_out}), text("log_position"), path};
    std::uint64_t updates = 0;
    try {
      const std::string digits = text("optimizer_updates");
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), updates);
      if (error != std::errc() || end != digits.data() + digits.size()) throw std::invalid_argument(digits);
      schedule.restore(JsonObject(text("schedule"), path + ": schedule", way_out).reals());
    } catch (const std::logic_error&) {  // of a number that is none, or a map that lacks a key
      throw Error(fmt::format("{}: 'optimizer_updates' or 'schedule' cannot be read; {}", path, way_out));
    }
    optimizer.set_updates(updates);
    restore_parameters(file, parameters);
    for (Optimizer::Slot& slot : optimizer.slots())
      for (const Parameter& parameter : parameters)
        slot.tensors[parameter.index] = file.tensors.at(slot_name(slot, parameter));
    // It is the best, and the run may have stopped before that was written.
    if (writes && saved.state.update == saved.state.best_update && path != best_file())
      write_file_atomically(best_file(), bytes);
    return saved;
  }
  throw Error(fmt::format("{}: every checkpoint is damaged; train again into another folder", folder_));
}

std::string Checkpoints::best_path() const { return path_exists(best_file()) ? best_file() : last_path(); }

std::string Checkpoints::last_path() const {
  const auto paths = newest_first();
  expect(!paths.empty(), folder_, "holds no checkpoint yet");
  return paths.front();
}

std::uint64_t Checkpoints::last_update() const {
  const auto paths = newest_first();
  if (paths.empty()) return 0;
  const std::string digits = fs::path(paths.front()).filename().string().substr(std::strlen(prefix));
  std::uint64_t update = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), update);
  return update;
}

std::string Checkpoints::average_path() const { return (fs::path(folder_) / "average.safetensors").string(); }

void load_parameters(const std::string& path, ParameterSet& parameters, const Checkpoints::Check& check) {
  const TensorFile file = read_safetensors(path);
  if (check) check(path, file.metadata);
  expect_model(file, path, parameters);
  restore_parameters(file, parameters);
}

Checkpoints::Metadata added_metadata(Checkpoints::Metadata metadata) {
  for (const char* own : {"format", "real", "state", "schedule", "optimizer_updates", "log_position", "checksum"})
    metadata.erase(own);
  return metadata;
}

bool is_optimizer_slot(const std::string& name) { return name.rfind(slot_prefix, 0) == 0; }

std::uint64_t update_of(const TensorFile& checkpoint, const std::string& path) {
  const auto state = checkpoint.metadata.find("state");
  expect(state != checkpoint.metadata.end(), path, "is not a checkpoint that a run has written");
  return state_from({state->second, path + ": state", way_out}).update;
}

}  // namespace surd
