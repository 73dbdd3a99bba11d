#include "train/storage/safetensors.hpp"

#include "train/storage/files.hpp"
#include "train/storage/hash.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>

namespace surd {
namespace {

using Json = nlohmann::json;

constexpr std::size_t length_bytes = 8;
constexpr std::size_t largest_header = 100'000'000;           // as in the reference implementation
constexpr std::size_t largest_extent = std::size_t{1} << 60;  // product of the axes that are not 0
constexpr int deepest_nesting = 4;                            // a header needs 2: tensors and the lists in them
constexpr const char* checksum_prefix = "\"checksum\":\"xxh3-";
constexpr const char* checksum_kind = "xxh3-";
constexpr std::size_t checksum_digits = 16;

std::string little_endian(std::uint64_t value) {
  std::string bytes(length_bytes, '\0');
  for (std::size_t i = 0; i < length_bytes; ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  return bytes;
}

/// Hash of the file with the checksum's digits, at `digits`, taken as zeros.
std::string checksum(const std::string& bytes, std::size_t digits) {
  const std::string_view file = bytes;
  return Hash()
      .add(file.substr(0, digits))
      .add(std::string(checksum_digits, '0'))
      .add(file.substr(digits + checksum_digits))
      .digits();
}

/// IEEE 754 binary16.
struct Float16 {
  std::uint16_t bits;
  operator float() const {  // NOLINT: implicit, as of a number
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float value = std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    if (exponent == 0) value = std::ldexp(static_cast<float>(fraction), -24);
    if (exponent == 31)
      value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    return bits >> 15 == 0 ? value : -value;
  }
};

/// The upper half of a float.
struct BFloat16 {
  std::uint16_t bits;
  operator float() const {  // NOLINT: implicit, as of a number
    const std::uint32_t whole = std::uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &whole, sizeof value);
    return value;
  }
};

template <class Stored>
void convert(const char* from, Real* to, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Stored value;
    std::memcpy(&value, from + i * sizeof(Stored), sizeof(Stored));
    to[i] = static_cast<Real>(value);
  }
}

struct Reader {
  const std::string& name;
  const std::string& bytes;

  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> rule, Args&&... args) const {
    expect(holds, name, rule, std::forward<Args>(args)...);
  }

  Json header(const std::string& text) const {
    std::vector<std::set<std::string>> keys;  // of the objects that are open
    const auto check = [&](int depth, Json::parse_event_t event, const Json& parsed) {
      require(depth <= deepest_nesting, "the header is nested too deep; the file is damaged");
      const auto level = static_cast<std::size_t>(depth);
      if (event == Json::parse_event_t::object_start) {
        keys.resize(level);
        keys.emplace_back();
      }
      if (event == Json::parse_event_t::key) {
        const std::string key = parsed;
        require(keys.at(level - 1).insert(key).second, "the header has '{}' twice", key);
      }
      return true;
    };
    Json header = Json::parse(text, check, false);
    require(header.is_object(), "the header is not a JSON object; the file is damaged");
    return header;
  }

  Tensor tensor(const std::string& key, const Json& entry, std::size_t data_begin,
                std::vector<std::pair<std::size_t, std::size_t>>& ranges) const {
    require(entry.is_object() && entry.value("dtype", Json()).is_string() && entry.value("shape", Json()).is_array() &&
                entry.value("data_offsets", Json()).is_array() && entry["data_offsets"].size() == 2,
            "tensor '{}' lacks dtype, shape or data_offsets", key);
    const std::string dtype = entry["dtype"];
    const bool half = dtype == "F16" || dtype == "BF16";
    const std::size_t width = dtype == "F64" ? 8 : half ? 2 : 4;
    require(half || dtype == "F32" || dtype == "F64" || dtype == "I32",
            "tensor '{}' has dtype {}; read are F16, BF16, F32, F64, I32", key, dtype);
    const std::size_t available = bytes.size() - data_begin;
    Shape shape;
    std::size_t count = 1, extent = 1;
    for (const Json& axis : entry["shape"]) {
      require(axis.is_number_unsigned(), "tensor '{}' has a shape that is not a list of sizes", key);
      shape.push_back(axis.get<std::size_t>());
      const std::size_t factor = std::max(shape.back(), std::size_t{1});  // strides ignore an axis of 0
      require(extent <= largest_extent / factor, "tensor '{}' is larger than the file", key);
      extent *= factor;
      count *= shape.back();
    }
    require(count <= available / width, "tensor '{}' is larger than the file", key);
    const Json& offsets = entry["data_offsets"];
    require(offsets[0].is_number_unsigned() && offsets[1].is_number_unsigned(), "tensor '{}' has bad offsets", key);
    const std::size_t begin = offsets[0], end = offsets[1];
    require(begin <= end && end <= available && end - begin == count * width,
            "tensor '{}' of {} bytes does not fit its offsets [{}, {}) in {} bytes of data", key, count * width, begin,
            end, available);
    ranges.emplace_back(begin, end);
    Tensor result(shape);
    const char* from = bytes.data() + data_begin + begin;
    if (dtype == "F16") convert<Float16>(from, result.data(), count);
    if (dtype == "BF16") convert<BFloat16>(from, result.data(), count);
    if (dtype == "F32") convert<float>(from, result.data(), count);
    if (dtype == "F64") convert<double>(from, result.data(), count);
    if (dtype == "I32") convert<std::int32_t>(from, result.data(), count);
    return result;
  }
};

}  // namespace

std::string encode_safetensors(const TensorFileView& view) {
  const std::string digits(checksum_digits, '0');
  Json metadata = view.metadata;
  metadata["checksum"] = checksum_kind + digits;
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::size_t offset = 0;
  for (const auto& [name, tensor] : view.tensors) {
    const std::size_t size = tensor->size() * sizeof(Real);
    header[name] = {{"dtype", sizeof(Real) == 4 ? "F32" : "F64"},
                    {"shape", std::vector<std::size_t>(tensor->shape().begin(), tensor->shape().end())},
                    {"data_offsets", {offset, offset + size}}};
    offset += size;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data is aligned
  std::string bytes = little_endian(text.size()) + text;
  bytes.reserve(bytes.size() + offset);
  for (const auto& [name, tensor] : view.tensors)
    bytes.append(reinterpret_cast<const char*>(tensor->data()), tensor->size() * sizeof(Real));
  const std::size_t at = bytes.find(checksum_prefix) + std::strlen(checksum_prefix);
  bytes.replace(at, checksum_digits, checksum(bytes, at));
  return bytes;
}

TensorFile decode_safetensors(const std::string& bytes, const std::string& name) {
  const Reader reader{name, bytes};
  reader.require(bytes.size() >= length_bytes, "{} bytes are too few for a safetensors file", bytes.size());
  std::uint64_t length = 0;
  for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(bytes[i]);
  reader.require(length <= largest_header && length <= bytes.size() - length_bytes,
                 "a header of {} bytes does not fit in {} bytes; the file is torn or no safetensors file", length,
                 bytes.size());
  const Json header = reader.header(bytes.substr(length_bytes, length));

  TensorFile file;
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (const auto& [key, entry] : header.items()) {
    if (key != "__metadata__") {
      file.tensors.emplace(key, reader.tensor(key, entry, length_bytes + length, ranges));
      continue;
    }
    reader.require(entry.is_object(), "__metadata__ is not an object");
    for (const auto& [item, value] : entry.items()) {
      reader.require(value.is_string(), "metadata '{}' is not a string", item);
      file.metadata[item] = value;
      // A flipped bit may have hit the word "checksum" itself.
      reader.require(item == "checksum" || file.metadata[item].rfind(checksum_kind, 0) != 0,
                     "the checksum is called '{}'; the file is damaged", item);
    }
  }
  std::sort(ranges.begin(), ranges.end());
  std::size_t end = 0;
  for (const auto& range : ranges) {
    reader.require(range.first == end, "the tensors do not lie one after the other");
    end = range.second;
  }
  reader.require(end == bytes.size() - length_bytes - length, "{} bytes of data, {} expected; the file is torn",
                 bytes.size() - length_bytes - length, end);

  if (const auto stored = file.metadata.find("checksum"); stored != file.metadata.end()) {
    const std::size_t found = bytes.find(checksum_prefix);
    reader.require(found != std::string::npos, "the checksum is not where it was written; the file is damaged");
    const std::size_t at = found + std::strlen(checksum_prefix);
    reader.require(at + checksum_digits <= bytes.size() && checksum_kind + checksum(bytes, at) == stored->second,
                   "the checksum does not match; the file is damaged");
  }
  return file;
}

TensorFile read_safetensors(const std::string& path) { return decode_safetensors(read_file(path), path); }

}  // namespace surd
