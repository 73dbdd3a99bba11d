#include "train/checkpoint.hpp"

#include "train/files.hpp"
#include "train/safetensors.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace surd {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* format = "surd-checkpoint-1";
constexpr const char* prefix = "update-";
constexpr const char* suffix = ".safetensors";

std::string slot_name(const Optimizer::Slot& slot, const Parameter& parameter) {
  return fmt::format("optimizer.{}.{}", slot.name, parameter.name);
}

Json to_json(const TrainState& state) {
  return {{"update", state.update},
          {"epoch", state.epoch},
          {"next_batch", state.next_batch},
          {"target_tokens", state.target_tokens},
          {"best", state.best ? Json(*state.best) : Json()},
          {"best_update", state.best_update},
          {"evaluations_without_improvement", state.evaluations_without_improvement},
          {"finished", state.finished}};
}

TrainState state_from(const Json& json) {
  TrainState state;
  json.at("update").get_to(state.update);
  json.at("epoch").get_to(state.epoch);
  json.at("next_batch").get_to(state.next_batch);
  json.at("target_tokens").get_to(state.target_tokens);
  if (!json.at("best").is_null()) state.best = json["best"].get<double>();
  json.at("best_update").get_to(state.best_update);
  json.at("evaluations_without_improvement").get_to(state.evaluations_without_improvement);
  json.at("finished").get_to(state.finished);
  return state;
}

const Tensor& stored(const TensorFile& file, const std::string& path, const std::string& name, const Shape& shape) {
  const auto found = file.tensors.find(name);
  expect(found != file.tensors.end(), path, "has no tensor '{}': it is of another model", name);
  expect(found->second.shape() == shape, path, "'{}' has shape {}, the model's has {}: it is of another model", name,
         found->second.shape(), shape);
  return found->second;
}

void restore_parameters(const TensorFile& file, const std::string& path, ParameterSet& parameters) {
  for (const Parameter& parameter : parameters) stored(file, path, parameter.name, parameter.value.shape());
  for (Parameter& parameter : parameters) parameter.value = file.tensors.at(parameter.name);
}

}  // namespace

void Checkpoints::save(const ParameterSet& parameters, const Optimizer& optimizer, const Schedule& schedule,
                       const TrainState& state, const std::string& log_position, bool best) const {
  TensorFileView view;
  view.metadata = {{"format", format},
                   {"state", to_json(state).dump()},
                   {"schedule", Json(schedule.state()).dump()},
                   {"optimizer_updates", std::to_string(optimizer.updates())},
                   {"log_position", log_position}};
  for (const Parameter& parameter : parameters) view.tensors.emplace_back(parameter.name, &parameter.value);
  for (const Optimizer::Slot& slot : optimizer.slots())
    for (const Parameter& parameter : parameters)
      view.tensors.emplace_back(slot_name(slot, parameter), &slot.tensors[parameter.index]);
  const std::string bytes = encode_safetensors(view);
  if (best) write_file_atomically((fs::path(folder_) / "best.safetensors").string(), bytes);
  write_file_atomically((fs::path(folder_) / fmt::format("{}{:08}{}", prefix, state.update, suffix)).string(), bytes);
  const auto all = newest_first();
  for (std::size_t i = keep_; i < all.size(); ++i) fs::remove(all[i]);
}

std::vector<std::string> Checkpoints::newest_first() const {
  std::vector<std::string> paths;
  if (!fs::exists(folder_)) return paths;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) == 0 && entry.path().extension() == suffix) paths.push_back(entry.path().string());
  }
  std::sort(paths.rbegin(), paths.rend());  // the numbers have leading zeros
  return paths;
}

std::optional<Checkpoints::Saved> Checkpoints::resume(ParameterSet& parameters, Optimizer& optimizer,
                                                      Schedule& schedule,
                                                      const std::function<void(const std::string&)>& warn) const {
  const auto paths = newest_first();
  if (paths.empty()) return std::nullopt;
  for (const std::string& path : paths) {
    TensorFile file;
    try {
      file = read_safetensors(path);
    } catch (const Error& error) {
      warn(error.what());
      continue;
    }
    expect(file.metadata["format"] == format, path, "is not a checkpoint of this version ({})", format);
    restore_parameters(file, path, parameters);
    for (Optimizer::Slot& slot : optimizer.slots())
      for (const Parameter& parameter : parameters)
        slot.tensors[parameter.index] = stored(file, path, slot_name(slot, parameter), parameter.value.shape());
    try {
      optimizer.set_updates(std::stoull(file.metadata.at("optimizer_updates")));
      schedule.restore(Json::parse(file.metadata.at("schedule")).get<std::map<std::string, double>>());
      return Saved{state_from(Json::parse(file.metadata.at("state"))), file.metadata.at("log_position")};
    } catch (const std::exception& error) {
      throw Error(fmt::format("{}: its state cannot be read: {}", path, error.what()));
    }
  }
  throw Error(fmt::format("{}: every checkpoint is damaged; train again into another folder", folder_));
}

std::string Checkpoints::best_path() const {
  const fs::path best = fs::path(folder_) / "best.safetensors";
  return fs::exists(best) ? best.string() : last_path();
}

std::string Checkpoints::last_path() const {
  const auto paths = newest_first();
  expect(!paths.empty(), folder_, "holds no checkpoint yet");
  return paths.front();
}

void load_parameters(const std::string& path, ParameterSet& parameters) {
  restore_parameters(read_safetensors(path), path, parameters);
}

}  // namespace surd
