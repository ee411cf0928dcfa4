# dcc in CMake:
#
#     find_package(dcc REQUIRED)
#     dcc_add_model(mlp mlp.dcl D B=32 E=f16 PLAN mlp.plan)
#     target_link_libraries(server PRIVATE mlp)
#
# dcc_add_model(target model.dcl... [D NAME=VALUE...] [PLAN file] [TARGET gpu]
#               [MODEL name] [PTX] [OPTIONS option...])
# makes a static library of the models in these files, and <target>.h, which
# its users include. dcc runs again when a file that it read, the plan or dcc
# itself has changed; what it writes anew alone is compiled again. TARGET is a
# GPU of `dcc devices` (by default DCC_TARGET, or h200), PTX keeps the kernels
# as PTX beside the machine code (by default DCC_PTX), OPTIONS are dcc's own.
#
# The target dcc::runtime is what all of them share; ${DCC_EXECUTABLE} is dcc.
cmake_minimum_required(VERSION 3.18)
include(CMakeFindDependencyMacro)

get_filename_component(_dcc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.."
                       ABSOLUTE)
find_program(DCC_EXECUTABLE dcc HINTS "${_dcc_prefix}/bin"
             DOC "the dcc that models are compiled with")
set(_dcc_runtime "${CMAKE_CURRENT_LIST_DIR}/../../dcc/runtime")
get_filename_component(_dcc_runtime "${_dcc_runtime}" ABSOLUTE)
foreach(_dcc_language C CUDA)
  if(NOT CMAKE_${_dcc_language}_COMPILER_LOADED)
    set(dcc_FOUND FALSE)
    set(dcc_NOT_FOUND_MESSAGE
        "dcc needs project(... LANGUAGES C CXX CUDA) before find_package(dcc)")
    return()
  endif()
endforeach()
if(NOT DCC_EXECUTABLE)
  set(dcc_FOUND FALSE)
  set(dcc_NOT_FOUND_MESSAGE "there is no dcc in ${_dcc_prefix}/bin or in PATH")
  return()
endif()
find_dependency(CUDAToolkit)
find_dependency(Threads)

# The runtime comes as source, and is compiled once for a project.
if(NOT TARGET dcc_runtime)
  file(GLOB _dcc_sources "${_dcc_runtime}/base.c" "${_dcc_runtime}/rt*.c"
       "${_dcc_runtime}/safetensors*.c")
  add_library(dcc_runtime STATIC EXCLUDE_FROM_ALL ${_dcc_sources})
  target_include_directories(dcc_runtime PUBLIC "${_dcc_runtime}")
  target_link_libraries(dcc_runtime PUBLIC CUDA::cudart Threads::Threads m)
  # whichever C the project is written in
  set_target_properties(dcc_runtime PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS ON
    POSITION_INDEPENDENT_CODE ON)
  add_library(dcc::runtime ALIAS dcc_runtime)
endif()

# What nvcc calls a GPU, as dcc does in the first lines of what it writes.
function(_dcc_architecture out gpu)
  execute_process(COMMAND "${DCC_EXECUTABLE}" devices "${gpu}"
                  OUTPUT_VARIABLE text ERROR_VARIABLE error
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "dcc_add_model: ${error}")
  endif()
  string(REGEX MATCH "sm_([0-9]+)" ignored "${text}")
  set(arch "${CMAKE_MATCH_1}")
  if(arch GREATER_EQUAL 90)
    string(APPEND arch a)
  endif()
  set(${out} "${arch}" PARENT_SCOPE)
endfunction()

function(dcc_add_model target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PTX" "PLAN;TARGET;MODEL"
                        "D;OPTIONS")
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "dcc_add_model(${target}): "
            "${arg_KEYWORDS_MISSING_VALUES}: a value must follow")
  endif()
  if(NOT arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "dcc_add_model(${target}): a .dcl file is missing")
  endif()
  if(NOT arg_TARGET)
    set(arg_TARGET h200)
    if(DCC_TARGET)
      set(arg_TARGET "${DCC_TARGET}")
    endif()
  endif()

  set(files)
  foreach(file IN LISTS arg_UNPARSED_ARGUMENTS)
    get_filename_component(path "${file}" ABSOLUTE)
    if(NOT EXISTS "${path}")
      message(FATAL_ERROR "dcc_add_model(${target}): there is no file '${file}'"
              " (it takes D, PLAN, TARGET, MODEL, PTX and OPTIONS)")
    endif()
    list(APPEND files "${path}")
  endforeach()
  set(options "--target=${arg_TARGET}")
  foreach(define IN LISTS arg_D)
    list(APPEND options -D "${define}")
  endforeach()
  set(inputs ${files})
  if(arg_PLAN)
    get_filename_component(plan "${arg_PLAN}" ABSOLUTE)
    if(NOT EXISTS "${plan}")
      message(FATAL_ERROR "dcc_add_model(${target}): there is no plan "
              "'${arg_PLAN}'")
    endif()
    list(APPEND options "--plan=${plan}")
    list(APPEND inputs "${plan}")
  endif()
  if(arg_MODEL)
    list(APPEND options "--model=${arg_MODEL}")
  endif()

  # dcc leaves alone what would not change, so that a stamp says when it ran
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.dcc")
  set(stem "${folder}/${target}")
  file(MAKE_DIRECTORY "${folder}")
  add_custom_command(
    OUTPUT "${stem}.stamp"
    BYPRODUCTS "${stem}.cu" "${stem}.h"
    COMMAND "${DCC_EXECUTABLE}" ${files} -o "${stem}.cu" ${options}
            ${arg_OPTIONS}
    COMMAND "${CMAKE_COMMAND}" -E touch "${stem}.stamp"
    DEPENDS ${inputs} "${DCC_EXECUTABLE}"
    COMMENT "dcc: ${target}.cu" VERBATIM)
  add_custom_target(${target}_dcc DEPENDS "${stem}.stamp")
  set_source_files_properties("${stem}.cu" "${stem}.h" PROPERTIES
                              GENERATED TRUE)

  add_library(${target} STATIC "${stem}.cu" "${stem}.h")
  add_dependencies(${target} ${target}_dcc)
  target_include_directories(${target} PUBLIC "${folder}")
  target_link_libraries(${target} PUBLIC dcc::runtime)
  _dcc_architecture(arch "${arg_TARGET}")
  if(NOT arg_PTX AND NOT DCC_PTX)
    string(APPEND arch -real)
  endif()
  set_target_properties(${target} PROPERTIES
    CUDA_ARCHITECTURES "${arch}" CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON
    POSITION_INDEPENDENT_CODE ON)
endfunction()
