# How heed gets at OpenBLAS. A shared one is not linked: tensor/blas_library.cpp
# opens it at the first product, by its name or the place where it was found here,
# since loading it takes longer than everything else a small program does at its
# start. One whose name cannot be told, such as a static one, is linked.

set(heed_opens_openblas OFF)
set(soname)
if(APPLE AND HEED_OPENBLAS MATCHES "\\.dylib$")
  set(soname ${HEED_OPENBLAS})
elseif(CMAKE_READELF AND NOT HEED_OPENBLAS MATCHES "\\.a$")
  execute_process(COMMAND ${CMAKE_READELF} -d ${HEED_OPENBLAS}
                  OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(dynamic MATCHES "\\(SONAME\\)[^[]*\\[([^]]+)\\]")
    set(soname ${CMAKE_MATCH_1})
  endif()
endif()

if(soname)
  set(heed_opens_openblas ON)
  # What is opened has the soname: the plain name may come with the headers only.
  get_filename_component(file ${soname} NAME)
  get_filename_component(folder ${HEED_OPENBLAS} DIRECTORY)
  set(path ${folder}/${file})
  if(NOT EXISTS ${path})
    set(path ${HEED_OPENBLAS})
  endif()
  set_source_files_properties(tensor/blas_library.cpp PROPERTIES
    COMPILE_DEFINITIONS
    "HEED_BLAS_SONAME=\"${soname}\";HEED_BLAS_PATH=\"${path}\"")
else()
  target_link_libraries(heed PRIVATE heed::openblas)
endif()
target_link_libraries(heed PRIVATE ${CMAKE_DL_LIBS})

find_path(HEED_CBLAS cblas.h PATH_SUFFIXES openblas-openmp openblas REQUIRED)
mark_as_advanced(HEED_CBLAS)
target_include_directories(heed PRIVATE ${HEED_CBLAS})
