# Sets CANN_FOUND, CANN_HOME, CANN_VERSION, CANN_INCLUDE_DIRS and CANN_LIBRARIES.
set(CANN_HOME "$ENV{ASCEND_TOOLKIT_HOME}" CACHE PATH "installation of CANN, or the simulated toolkit")

find_path(CANN_INCLUDE_DIRS acl/acl.h HINTS "${CANN_HOME}/${CMAKE_SYSTEM_PROCESSOR}-linux/include")
find_library(CANN_LIBRARIES ascendcl HINTS "${CANN_HOME}/${CMAKE_SYSTEM_PROCESSOR}-linux/lib64")

foreach(file IN ITEMS "${CANN_HOME}/version.info" "${CANN_HOME}/runtime/version.info")
    if(NOT CANN_VERSION AND EXISTS "${file}")
        file(STRINGS "${file}" line REGEX "^Version=")
        string(REPLACE "Version=" "" CANN_VERSION "${line}")
    endif()
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
    CANN REQUIRED_VARS CANN_LIBRARIES CANN_INCLUDE_DIRS VERSION_VAR CANN_VERSION)
