#include "bars.h"
#include "errors.h"
#include "research.h"
#include "rules.h"
#include "run.h"
#include "settings.h"
#include "table.h"

#include <rekindle/base/version.h>

#include <nanobind/nanobind.h>

NB_MODULE(_core, module) {
    module.attr("__version__") = rekindle::version_number().c_str();
    rekindle::python::register_errors();
    rekindle::python::bind_table(module);
    rekindle::python::bind_settings(module);
    rekindle::python::bind_bars(module);
    rekindle::python::bind_run(module);
    rekindle::python::bind_rules(module);
    rekindle::python::bind_research(module);
}
