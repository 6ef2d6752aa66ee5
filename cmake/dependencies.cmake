# What heed links to. Read by the build and, installed beside heed-config.cmake,
# by every project that links the static library.

# Homebrew keeps these two out of the default search path.
if(APPLE)
  list(APPEND CMAKE_PREFIX_PATH
       /opt/homebrew/opt/libomp /opt/homebrew/opt/openblas
       /usr/local/opt/libomp /usr/local/opt/openblas)
endif()

find_package(Threads REQUIRED)

# The OpenMP build of OpenBLAS first, wherever else another one is installed. An
# installed heed that opens it when it is needed has no use for it here.
if(NOT TARGET heed::openblas AND NOT heed_opens_openblas)
  find_library(HEED_OPENBLAS openblas PATH_SUFFIXES openblas-openmp REQUIRED)
  mark_as_advanced(HEED_OPENBLAS)
  add_library(heed::openblas INTERFACE IMPORTED)
  set_target_properties(heed::openblas PROPERTIES
    INTERFACE_LINK_LIBRARIES "${HEED_OPENBLAS}")
  if(HEED_OPENBLAS MATCHES "\\.a$")
    find_package(OpenMP REQUIRED COMPONENTS CXX)
    set_property(TARGET heed::openblas APPEND PROPERTY
      INTERFACE_LINK_LIBRARIES OpenMP::OpenMP_CXX)
  endif()
endif()
