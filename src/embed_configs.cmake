# cmake -DOUTPUT=X.cpp -DFOLDER=configs -P embed_configs.cmake : the YAML files of FOLDER as one C++ table of texts.
file(GLOB files ${FOLDER}/*.yaml)
list(SORT files)
set(rows "")
foreach(file ${files})
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} text)
  string(REGEX REPLACE "\n *#[^\n]*" "" text "\n${text}")  # every run reads the rest
  string(APPEND rows "    {\"${name}\", R\"embedded(${text})embedded\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from configs/*.yaml.
#include \"parse/config_files.hpp\"

namespace ccl {

const std::vector<EmbeddedConfig>& embedded_configs() {
  static const std::vector<EmbeddedConfig> all{
${rows}  };
  return all;
}

}  // namespace ccl
")
