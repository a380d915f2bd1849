# rtcheckConfig.cmake - find_package(rtcheck), before include(CTest): `ctest -T memcheck` is rtcheck's.
#
# Set CTest's MEMORYCHECK_* variables in the cache, where CTest reads them.  Values of the user stay,
# but a valgrind that CTest has found is replaced.  A test with findings of rtcheck fails, with exit
# status 23.  RTCHECK_COMMAND_OPTIONS are added for all tests.  The target rtcheck::annotations has
# the include path of the headers rtcheck/*.h.
get_filename_component(rtcheck_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(rtcheck_COMMAND "${rtcheck_PREFIX}/bin/rtcheck")

# A value set by this file is updated if an option is added or rtcheck has moved; a user's stays.
macro(rtcheck_set variable value type what)
  if(NOT DEFINED CACHE{${variable}} OR "$CACHE{${variable}}" STREQUAL "$CACHE{rtcheck_${variable}}")
    set(${variable} "${value}" CACHE ${type} "${what}" FORCE)
    set(rtcheck_${variable} "${value}" CACHE INTERNAL "${variable}, if it is rtcheck's")
  endif()
endmacro()

if(NOT DEFINED RTCHECK_COMMAND_OPTIONS)
  set(RTCHECK_COMMAND_OPTIONS "" CACHE STRING "more options for rtcheck, of ctest -T memcheck")
endif()
if(MEMORYCHECK_COMMAND MATCHES "valgrind|NOTFOUND")
  unset(MEMORYCHECK_COMMAND CACHE)
endif()
set(MEMORYCHECK_TYPE Valgrind CACHE STRING "rtcheck takes valgrind's options and writes its log")
rtcheck_set(MEMORYCHECK_COMMAND "${rtcheck_COMMAND}" FILEPATH "the checker of ctest -T memcheck")
rtcheck_set(MEMORYCHECK_COMMAND_OPTIONS
  "-q --tool=memcheck --num-callers=50 --error-exitcode=23 ${RTCHECK_COMMAND_OPTIONS}" STRING "its options")
if(NOT TARGET rtcheck::annotations)
  add_library(rtcheck::annotations INTERFACE IMPORTED)
  set_target_properties(rtcheck::annotations PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${rtcheck_PREFIX}/include")
endif()
