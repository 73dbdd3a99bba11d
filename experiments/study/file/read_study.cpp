#include "experiments/study/file/read_study.hpp"

#include "experiments/config/read_options.hpp"
#include "experiments/config/read_scalar.hpp"
#include "experiments/program/folders.hpp"
#include "experiments/study/file/file_kind.hpp"
#include "experiments/study/file/study_reader.hpp"
#include "train/storage/files.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace surd {
namespace {

/// The same as flow_text(); `inner` where the value stands in a list or mapping.
std::string flow_text_of(const YamlNode& node, bool inner) {
  std::string text;
  switch (node.kind) {
    case YamlNode::Kind::null: return "null";
    case YamlNode::Kind::scalar: {
      const bool plain = !node.quoted && (!inner || node.text.find_first_of(",[]{}:#") == std::string::npos);
      return plain ? node.text : nlohmann::json(node.text).dump();
    }
    case YamlNode::Kind::list:
      for (const YamlNode& child : node.children) text += (text.empty() ? "" : ", ") + flow_text_of(child, true);
      return "[" + text + "]";
    case YamlNode::Kind::mapping: break;
  }
  for (const YamlNode& child : node.children)
    text += (text.empty() ? "" : ", ") + child.key + ": " + flow_text_of(child, true);
  return "{" + text + "}";
}

/// Adds the single values of a config beneath `node` to `settings`, as if a level set them.
void add_settings(const YamlNode& node, const std::string& path, const Origin& origin, std::vector<Change>& settings) {
  if (node.kind != YamlNode::Kind::mapping) {
    settings.push_back({path, flow_text(node), origin});
    return;
  }
  for (const YamlNode& child : node.children)
    add_settings(child, path.empty() ? child.key : path + "." + child.key, origin, settings);
}

/// Whether a text is a date of the calendar as ISO 8601 writes it, "2026-11-20". Such dates sort like their texts.
bool is_date(const std::string& text) {
  constexpr std::string_view form = "dddd-dd-dd";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i)
    if (form[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != form[i]) return false;
  const int year = std::stoi(text.substr(0, 4)), month = std::stoi(text.substr(5, 2)), day = std::stoi(text.substr(8));
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  const int days[] = {31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1];
}

/// Whether a text, in UTF-8, has no line breaks and no other characters that would control a terminal: C0 and C1, the
/// separators of lines and paragraphs, and those that turn the direction of what follows.
bool one_line(const std::string& text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const unsigned first = byte(i), second = byte(i + 1), third = byte(i + 2);
    if (first < 0x20 || first == 0x7F || (first == 0xC2 && second < 0xA0)) return false;
    if (first != 0xE2) continue;
    if (second == 0x80 && third >= 0xA8 && third <= 0xAE) return false;
    if (second == 0x81 && third >= 0xA6 && third <= 0xA9) return false;
  }
  return true;
}

std::vector<std::string> preset_names() {
  std::vector<std::string> names;
  for (const std::string& file : names_in(presets_folder().string()))
    names.push_back(std::filesystem::path(file).stem().string());
  return names;
}

}  // namespace

std::string flow_text(const YamlNode& node) { return flow_text_of(node, false); }

bool StudyReader::unread(const std::string& path) const {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find_first_of(".[", end + 1);
    if (unread_.count(path.substr(0, end)) > 0) return true;
  }
  return false;
}

bool StudyReader::names_read(const std::string& list) const {
  return std::none_of(unread_.begin(), unread_.end(), [&](const std::string& path) {
    const std::string key = path.substr(path.rfind('.') + 1);
    return path.rfind(list, 0) == 0 &&
           (path == list || path.back() == ']' || key == "name" || key == "levels" || key == "values");
  });
}

const YamlNode* StudyReader::written(const char* list, std::size_t i) const {
  const YamlNode* node = root_.find(list);
  const bool there = node != nullptr && node->kind == YamlNode::Kind::list && i < node->children.size();
  return there ? &node->children[i] : nullptr;
}

Origin StudyReader::element(const char* list, std::size_t i) const {
  if (const YamlNode* node = written(list, i)) return node->origin;
  const YamlNode* node = root_.find(list);
  return node != nullptr ? node->origin : root_.origin;
}

Origin StudyReader::level_origin(std::size_t i, std::size_t j) const {
  if (root_.find("arms") != nullptr) return element("arms", j);
  const YamlNode* axis = written("axes", i);
  for (const char* key : {"levels", "values"})
    if (const YamlNode* list = axis != nullptr ? axis->find(key) : nullptr)
      if (list->kind == YamlNode::Kind::list && j < list->children.size()) return list->children[j].origin;
  return element("axes", i);
}

/// Names stand in tables, paths and lines of a terminal.
void StudyReader::expect_one_line(const std::string& name, const Origin& origin, const std::string& path) {
  require(one_line(name), origin, path,
          fmt::format("must be one line without control characters; got '{}'{}", shown(name),
                      !name.empty() && name.back() == '\n' ? "; write >- for >, which ends in a line break" : ""));
}

/// Of texts, which may have line breaks.
void StudyReader::expect_lines(std::string text, const Origin& origin, const std::string& path) {
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  require(one_line(text), origin, path, "must have no control characters but line breaks");
}

void StudyReader::expect_name(const std::string& name, const Origin& origin, const std::string& path) {
  constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
  const bool plain = name.find_first_not_of(std::string(letters) + "0123456789") == std::string::npos &&
                     name.find_first_of(letters) == 0 && name.size() <= 40;
  require(plain || name.empty(), origin, path,
          fmt::format("must be at most 40 letters, digits and '_', because formulas use it; got '{}'", shown(name)));
  require(name != "regime" && name != "V" && name != "_pi" && name != "_e", origin, path,
          fmt::format("'{}' has a meaning of its own; choose another name", name));
}

void StudyReader::expect_unique(const Names& names, const char* list, const char* what) {
  for (std::size_t i = 0; i < names.size(); ++i)
    require(std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) ==
                    names.begin() + static_cast<std::ptrdiff_t>(i) ||
                names[i].empty(),
            element(list, i), fmt::format("{}[{}].name", list, i),
            fmt::format("another {} is called '{}' already; rename one", what, shown(names[i])));
}

YamlDocument StudyReader::read_base() {
  YamlNode mapping;
  mapping.kind = YamlNode::Kind::mapping;
  mapping.origin = root_.origin;
  if (fields_.base.node && fields_.base.node->kind == YamlNode::Kind::mapping)
    mapping = *fields_.base.node;
  else if (fields_.base.node)
    add(fields_.base.node->origin, "base", fmt::format("must be a mapping; got {}", fields_.base.node->described()));
  if (const YamlNode* seed = mapping.find("seed"))
    add(seed->key_origin, "base.seed", "the runs have the study's seeds; remove it, and set 'seeds'");
  try {
    YamlDocument base = YamlDocument::inside(mapping, source_.file, presets_folder(), source_.base_copies);
    if (source_.quick)
      for (const Change& change : changes(fields_.quick.set, "quick.set"))
        base.set(change.key, change.value, change.origin);
    for (const std::string& setting : source_.settings) {
      if (setting.rfind("seed=", 0) == 0)
        add({"--set " + setting, 0, 0, 0}, "seed", "the runs have the study's seeds; set 'seeds' in its file");
      base.set(setting);
    }
    return base;
  } catch (const ConfigError& error) {
    collect(error);
    throw ConfigError(std::move(problems_));  // without a base config no arm can be read
  }
}

std::vector<Change> StudyReader::changes(const RawYaml& raw, const std::string& path) {
  std::vector<Change> changes;
  if (!raw.node) return changes;
  if (raw.node->kind != YamlNode::Kind::mapping) {
    add(raw.node->origin, path,
        fmt::format("must be a mapping of config keys, such as {{model.d_model: 32}}; got {}", raw.node->described()));
    return changes;
  }
  for (const YamlNode& child : raw.node->children) {
    if (child.key == "seed") {
      add(child.key_origin, path, "the runs have the study's seeds; remove it, and set 'seeds'");
      continue;
    }
    for (Change& made : setting(child, child.key)) {
      const bool twice =
          std::any_of(changes.begin(), changes.end(), [&](const Change& c) { return c.key == made.key; });
      require(!twice, made.origin, path, fmt::format("sets '{}' twice; remove one", shown(made.key)));
      changes.push_back(std::move(made));
    }
  }
  return changes;
}

std::vector<std::size_t> StudyReader::claims() {
  std::vector<std::size_t> claims;
  if (!fields_.claims.node) return claims;
  const YamlNode& list = *fields_.claims.node;
  if (list.kind != YamlNode::Kind::list) {
    add(list.origin, "claims", fmt::format("must be a list of whole numbers such as [3]; got {}", list.described()));
    unread_.insert("claims");
  }
  for (const YamlNode& child : list.children) {
    std::size_t claim = 0;
    if (const Complaint complaint = read_scalar(child, at_least(1), claim))
      add(child.origin, "claims", *complaint);
    else
      claims.push_back(claim);
  }
  return claims;
}

std::vector<Amendment> StudyReader::amendments() {
  std::vector<Amendment> amendments;
  std::string last;
  for (std::size_t i = 0; i < fields_.changes.size(); ++i) {
    const AmendmentFields& fields = fields_.changes[i];
    const std::string path = fmt::format("changes[{}].date", i);
    const YamlNode* node = written("changes", i);
    const YamlNode* date = node != nullptr ? node->find("date") : nullptr;
    const Origin origin = date != nullptr ? date->origin : element("changes", i);
    amendments.push_back({fields.date, fields.what, fields.seen});
    if (fields.date.empty()) continue;  // told already
    if (!is_date(fields.date)) {
      add(origin, path,
          fmt::format("must be a date of the calendar, year-month-day such as 2026-11-20; got '{}'",
                      shown(fields.date)));
      continue;
    }
    require(fields.date >= last, origin, path,
            fmt::format("{} is before {}, the date of the change above it; write them in order", fields.date, last));
    last = fields.date;
  }
  return amendments;
}

Level StudyReader::level(const LevelFields& fields, const Origin& origin, const std::string& path) {
  Level level{fields.name, fields.value, {}};
  if (!fields.preset.empty()) {
    const std::filesystem::path file = presets_folder() / (fields.preset + ".yaml");
    if (path_exists(file.string()))
      add_settings(YamlDocument::load(file, presets_folder()).root(), "", origin, level.set);
    else
      add(origin, path + ".preset",
          fmt::format("there is no preset '{}'{}", shown(fields.preset), did_you_mean(fields.preset, preset_names())));
  }
  const std::vector<Change> own = changes(fields.set, path + ".set");
  level.set.insert(level.set.end(), own.begin(), own.end());
  return level;
}

std::vector<Level> StudyReader::shorthand_levels(const AxisFields& fields, const std::string& path) {
  std::vector<Level> levels;
  const YamlNode& list = *fields.values.node;
  if (list.kind != YamlNode::Kind::list) {
    add(list.origin, path + ".values", fmt::format("must be a list; got {}", list.described()));
    unread_.insert(path + ".values");
  }
  for (const YamlNode& child : list.children) {
    Level made{flow_text(child), std::nullopt, setting(child, fields.key)};
    if (child.kind == YamlNode::Kind::scalar && child.quoted) made.name = child.text;
    double number = 0;
    if (!read_scalar(child, {}, number))
      made.value = number;
    else if (child.kind == YamlNode::Kind::scalar)
      made.value = constant(made.set.front());
    levels.push_back(std::move(made));
  }
  return levels;
}

std::vector<Axis> StudyReader::axes() {
  std::vector<Axis> axes;
  Names names;
  if (root_.find("arms") != nullptr) {
    require(root_.find("axes") == nullptr, root_.find("arms")->key_origin, "arms",
            "is shorthand for one axis; write it as one of the axes");
    Axis arms{"arm", {}};
    for (std::size_t i = 0; i < fields_.arms.size(); ++i)
      arms.levels.push_back(level(fields_.arms[i], element("arms", i), fmt::format("arms[{}]", i)));
    axes.push_back(std::move(arms));
  }
  for (std::size_t i = 0; i < fields_.axes.size(); ++i) {
    const AxisFields& fields = fields_.axes[i];
    const std::string path = fmt::format("axes[{}]", i);
    const Origin origin = element("axes", i);
    expect_name(fields.name, origin, path + ".name");
    require(std::find(std::begin(csv_columns), std::end(csv_columns), fields.name) == std::end(csv_columns), origin,
            path + ".name", fmt::format("'{}' is a column of runs.csv; choose another name", fields.name));
    names.push_back(fields.name);
    Axis axis{fields.name, {}};
    for (std::size_t j = 0; j < fields.levels.size(); ++j)
      axis.levels.push_back(level(fields.levels[j], origin, fmt::format("{}.levels[{}]", path, j)));
    const bool shorthand = !fields.key.empty() && fields.values.node.has_value();
    if (unread(path + ".levels"))
      axis.levels.clear();
    else if (shorthand == !axis.levels.empty() || (!shorthand && (!fields.key.empty() || fields.values.node)))
      add(origin, path, "must have either levels, or key and values");
    else if (shorthand)
      axis.levels = shorthand_levels(fields, path);
    axes.push_back(std::move(axis));
  }
  expect_unique(names, "axes", "axis");
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const char* list = root_.find("arms") != nullptr ? "arms" : "axes";
    std::set<std::string> taken;
    for (std::size_t j = 0; j < axes[i].levels.size(); ++j) {
      const std::string& name = axes[i].levels[j].name;
      const Origin origin = level_origin(i, j);
      require(taken.insert(name).second || name.empty(), origin, axes[i].name,
              fmt::format("two levels are called '{}'; rename one", shown(name)));
      require(name.size() <= 60, origin, axes[i].name,
              fmt::format("a level's name has at most 60 bytes; shorten '{}'", shown(name)));
      expect_one_line(name, origin, axes[i].name);
    }
    require(!axes[i].levels.empty() || !axes_read(), element(list, i), axes[i].name,
            "has no levels; write two or more");
  }
  return axes;
}

Study StudyReader::read() {
  const YamlDocument document = YamlDocument::load(source_.file, presets_folder());
  root_ = document.root();
  expect_no_config(root_, source_.file.string());
  for (const std::filesystem::path& file : document.extended_files())
    add({source_.file.string(), 0, 0, 0}, "extends",
        fmt::format("a study cannot build upon another file ('{}'); its base can: move it there", file.string()));
  try {  // not read_options(), which would drop everything where one thing is wrong
    detail::read_options(document, [this](Fields& f) { fields_.fields(f); });
  } catch (const ConfigError& error) {
    collect(error);
    for (const Problem& problem : error.problems()) unread_.insert(problem.path);
  }
  if (const YamlNode* title = root_.find("title")) expect_one_line(fields_.title, title->origin, "title");
  for (const auto& [key, text] :
       {std::pair("question", &fields_.question), std::pair("expectation", &fields_.expectation)})
    if (const YamlNode* node = root_.find(key)) expect_lines(*text, node->origin, key);
  Study study{fields_.title, fields_.question, fields_.expectation, claims(), read_base(), {}, {}, {}, {}, {}, {}};
  study.quick = source_.quick;
  const YamlNode* quick = root_.find("quick");
  require(!study.quick || source_.begun || (quick != nullptr && !quick->children.empty()), root_.origin, "quick",
          "is missing, so that --quick cuts nothing down; add e.g. quick: {seeds: 2, set: {train.updates: 50}}");
  study.looks = fields_.looks;
  study.amendments = amendments();
  study.axes = axes();
  study.seeds = seeds(fields_.seeds, "seeds", 1, 10);
  if (study.quick && fields_.quick.seeds.node) study.seeds = seeds(fields_.quick.seeds, "quick.seeds", 1, 2);
  set_ = changes(fields_.set, "set");
  check_set_formulas(study);
  read_tuning(study);
  read_metrics(study);
  read_without(study);
  make_arms(study);
  check_without(study);
  arms_made_ = problems_.empty();
  read_hypotheses(study);
  apply_quick(study);
  if (problems_.empty()) resolve_arms(study);
  if (problems_.empty()) check_quick();
  if (!problems_.empty()) throw ConfigError(std::move(problems_));
  return study;
}

Study load_study(const StudySource& source) { return StudyReader(source).read(); }

Study load_study(const std::string& path, const std::vector<std::string>& settings, bool quick) {
  return load_study(StudySource{path, settings, quick, {}});
}

}  // namespace surd
