# Where the headers are found, in the build and once installed.
#
# heed's own files include one another from the root ("nn/linear.h"); its users
# write <heed/nn/linear.h>. In the build both work: the root is an include
# directory, and build/include/heed holds links to it. The installed copies
# include <heed/nn/linear.h> themselves, so that a user's include path gets
# nothing but include/, and their own "tensor/" or "nn/" stays theirs. Headers
# with OpenMP pragmas, and those that include one, are the kernels' own and are
# not installed: without heed's compiler flags they would only warn.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(heed_build_include ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${heed_build_include}/heed)
foreach(entry IN ITEMS heed.h tensor autograd nn optim)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${entry}
       ${heed_build_include}/heed/${entry} SYMBOLIC)
endforeach()
target_include_directories(heed PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
  $<BUILD_INTERFACE:${heed_build_include}>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
set_target_properties(heed PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  INSTALL_RPATH_USE_LINK_PATH ON)

set(heed_staged ${PROJECT_BINARY_DIR}/staged-headers)
install(CODE "
  file(REMOVE_RECURSE \"${heed_staged}\")
  set(kernels \"#pragma omp|#include <cblas\")  # a pattern of what only kernels may include
  set(headers ${heed_headers})
  set(left)
  while(NOT headers STREQUAL left)
    set(left \${headers})
    foreach(header IN LISTS left)
      file(READ \"${PROJECT_SOURCE_DIR}/\${header}\" text)
      if(text MATCHES \"\${kernels}\")
        list(REMOVE_ITEM headers \${header})
        string(APPEND kernels \"|#include \\\"\${header}\\\"\")
      endif()
    endforeach()
  endwhile()
  foreach(header IN LISTS headers)
    file(READ \"${PROJECT_SOURCE_DIR}/\${header}\" text)
    string(REGEX REPLACE
           \"#include \\\"((tensor|autograd|nn|optim)/[^\\\"]+)\\\"\"
           \"#include <heed/\\\\1>\" text \"\${text}\")
    file(WRITE \"${heed_staged}/heed/\${header}\" \"\${text}\")
  endforeach()")
install(DIRECTORY ${heed_staged}/heed
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(heed_package ${CMAKE_INSTALL_LIBDIR}/cmake/heed)
install(TARGETS heed EXPORT heed-targets)
install(EXPORT heed-targets NAMESPACE heed:: DESTINATION ${heed_package})
if(NOT DEFINED BUILD_SHARED_LIBS)
  set(BUILD_SHARED_LIBS OFF)
endif()
configure_package_config_file(
  cmake/heed-config.cmake.in ${PROJECT_BINARY_DIR}/heed-config.cmake
  INSTALL_DESTINATION ${heed_package}
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/heed-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heed-config.cmake
              ${PROJECT_BINARY_DIR}/heed-config-version.cmake
              cmake/dependencies.cmake
        DESTINATION ${heed_package})
