#pragma once

#include "autograd/base/error.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace surd {

/// A JSON object that an earlier process wrote and a person may have changed since. What asks for a key, or for numbers
/// alone, throws Error "name: 'key' rule; way out" where it is not there.
class JsonObject {
 public:
  /// `name`: the file, or "file:line"; `way_out`: what a person can do where it does not hold what it should.
  JsonObject(std::string_view text, std::string name, std::string way_out);

  std::vector<std::string> keys() const;
  bool has(const std::string& key) const { return object_.contains(key); }
  bool is_null(const std::string& key) const { return at(key).is_null(); }
  double real(const std::string& key) const;  ///< null is NaN, which JSON cannot write
  std::uint64_t count(const std::string& key) const;
  bool truth(const std::string& key) const;
  std::string text(const std::string& key) const;
  JsonObject object(const std::string& key) const;
  /// Every key with its number.
  std::map<std::string, double> reals() const;
  /// The numbers among its values, whatever the others are.
  std::map<std::string, double> numbers() const;
  /// The texts among its values, whatever the others are.
  std::map<std::string, std::string> texts() const;

  /// Throws Error "name: rule; way out" unless `holds`.
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> rule, Args&&... args) const {
    expect(holds, name_, "{}; {}", fmt::format(rule, std::forward<Args>(args)...), way_out_);
  }

 private:
  JsonObject(nlohmann::json object, std::string path, const JsonObject& outer);
  const nlohmann::json& at(const std::string& key) const;

  std::string name_, way_out_;
  std::string path_;  // "last." inside the object of that key
  nlohmann::json object_;
};

}  // namespace surd
