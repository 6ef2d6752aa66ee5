# What heed links to. Read by the build and, installed beside heed-config.cmake,
# by every project that links the static library.

# Homebrew keeps these two out of the default search path.
if(APPLE)
  list(APPEND CMAKE_PREFIX_PATH
       /opt/homebrew/opt/libomp /opt/homebrew/opt/openblas
       /usr/local/opt/libomp /usr/local/opt/openblas)
endif()

find_package(OpenMP REQUIRED COMPONENTS CXX)

# The OpenMP build of OpenBLAS first, wherever else another one is installed.
if(NOT TARGET heed::openblas)
  find_library(HEED_OPENBLAS openblas PATH_SUFFIXES openblas-openmp REQUIRED)
  mark_as_advanced(HEED_OPENBLAS)
  add_library(heed::openblas INTERFACE IMPORTED)
  set_target_properties(heed::openblas PROPERTIES
    INTERFACE_LINK_LIBRARIES "${HEED_OPENBLAS}")
endif()
