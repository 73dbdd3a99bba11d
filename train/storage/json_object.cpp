#include "train/storage/json_object.hpp"

#include <limits>
#include <utility>

namespace surd {

JsonObject::JsonObject(std::string_view text, std::string name, std::string way_out)
    : name_(std::move(name)),
      way_out_(std::move(way_out)),
      object_(nlohmann::json::parse(text.begin(), text.end(), nullptr, false)) {
  require(object_.is_object(), "is not a JSON object");
}

JsonObject::JsonObject(nlohmann::json object, std::string path, const JsonObject& outer)
    : name_(outer.name_), way_out_(outer.way_out_), path_(std::move(path)), object_(std::move(object)) {}

const nlohmann::json& JsonObject::at(const std::string& key) const {
  const auto found = object_.find(key);
  require(found != object_.end(), "has no '{}{}'", path_, key);
  return *found;
}

std::vector<std::string> JsonObject::keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object_.items()) keys.push_back(key);
  return keys;
}

double JsonObject::real(const std::string& key) const {
  const nlohmann::json& value = at(key);
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  require(value.is_number(), "'{}{}' is not a number", path_, key);
  return value.get<double>();
}

std::uint64_t JsonObject::count(const std::string& key) const {
  const nlohmann::json& value = at(key);
  require(value.is_number_unsigned(), "'{}{}' is not a count", path_, key);
  return value.get<std::uint64_t>();
}

bool JsonObject::truth(const std::string& key) const {
  const nlohmann::json& value = at(key);
  require(value.is_boolean(), "'{}{}' is neither true nor false", path_, key);
  return value.get<bool>();
}

std::string JsonObject::text(const std::string& key) const {
  const nlohmann::json& value = at(key);
  require(value.is_string(), "'{}{}' is not a text", path_, key);
  return value.get<std::string>();
}

JsonObject JsonObject::object(const std::string& key) const {
  const nlohmann::json& value = at(key);
  require(value.is_object(), "'{}{}' is not an object", path_, key);
  return {value, path_ + key + ".", *this};
}

std::map<std::string, double> JsonObject::reals() const {
  std::map<std::string, double> values;
  for (const auto& [key, value] : object_.items()) values[key] = real(key);
  return values;
}

std::map<std::string, double> JsonObject::numbers() const {
  std::map<std::string, double> values;
  for (const auto& [key, value] : object_.items())
    if (value.is_number()) values[key] = value.get<double>();
  return values;
}

std::map<std::string, std::string> JsonObject::texts() const {
  std::map<std::string, std::string> values;
  for (const auto& [key, value] : object_.items())
    if (value.is_string()) values[key] = value.get<std::string>();
  return values;
}

}  // namespace surd
