# -DCCL_FETCH_DEPS=ON: a release of each library that find_package cannot find is downloaded and built along. For
# clusters whose modules lack them; MPI and HDF5 are never fetched. Not tested where there is no network.
# FETCHCONTENT_SOURCE_DIR_<NAME>=DIR takes sources that are already there.
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)

function(ccl_fetch_if_missing name repository tag)
  find_package(${name} QUIET)
  if(${name}_FOUND)
    return()
  endif()
  message(STATUS "${name} is not installed: fetching ${tag}")
  FetchContent_Declare(${name} GIT_REPOSITORY https://github.com/${repository}.git GIT_TAG ${tag} GIT_SHALLOW ON
                       SYSTEM OVERRIDE_FIND_PACKAGE)
endfunction()

set(SIMDJSON_DEVELOPER_MODE OFF)
set(YAML_CPP_BUILD_TESTS OFF)
set(YAML_CPP_BUILD_TOOLS OFF)
set(INSTALL_GTEST OFF)
ccl_fetch_if_missing(simdjson simdjson/simdjson v3.10.1)
ccl_fetch_if_missing(yaml-cpp jbeder/yaml-cpp 0.8.0)
ccl_fetch_if_missing(CLI11 CLIUtils/CLI11 v2.4.2)
ccl_fetch_if_missing(fmt fmtlib/fmt 10.2.1)
ccl_fetch_if_missing(tomlplusplus marzer/tomlplusplus v3.4.0)
if(CCL_TESTS)
  ccl_fetch_if_missing(GTest google/googletest v1.14.0)
endif()
