#pragma once

#include "autograd/base/fields.hpp"

#include <string>
#include <utility>

namespace surd {

/// The arguments of every measurement. Each measurement has its own default for how long it takes.
struct MeasurementArguments {
  double seconds;
  bool json = false;

  explicit MeasurementArguments(double usual_seconds) : seconds(usual_seconds) {}
  void fields(Fields& f) {
    f("secs", seconds, "how long to measure each", between(0, 3600), Unit{"seconds"});
    f("json", json, "print JSON");
  }
};

/// The arguments of a measurement of one shape.
struct ShapeArguments : MeasurementArguments {
  std::string shape;

  ShapeArguments(std::string usual_shape, double usual_seconds)
      : MeasurementArguments(usual_seconds), shape(std::move(usual_shape)) {}
  void fields(Fields& f) {
    f("config", shape, "one of `surd bench shapes`", Unit{"shape"});
    MeasurementArguments::fields(f);
  }
};

}  // namespace surd
