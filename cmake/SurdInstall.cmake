# What `cmake --install` leaves behind: the program, headers, libraries, presets, sample configs, and a package, so that
# another project writes find_package(surd) and links surd::surd (Real = float) or surd::surd_f64 (double).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(surd_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/surd)
set(surd_installed_libraries surd_options surd_warnings surd_warnings_together surd_autograd_base surd_data surd_program
    surd_config surd_statistics surd_command_line surd_report_assets)
set(surd_programs surd)

# surd::surd is everything, surd::surd_f64 what there is in double precision: the rooms up to train, and with surd-f64
# the rest. The program is called surd as well, so the library everything hangs on has another name in here.
foreach(suffix IN ITEMS "" _f64)
  set(everything surd_everything${suffix})
  foreach(room autograd layers train run study commands)
    if(NOT TARGET surd_${room}${suffix})
      continue()
    endif()
    if(NOT TARGET ${everything})
      add_library(${everything} INTERFACE)
      set_target_properties(${everything} PROPERTIES EXPORT_NAME surd${suffix})
      list(APPEND surd_installed_libraries ${everything})
    endif()
    list(APPEND surd_installed_libraries surd_${room}${suffix})
    target_link_libraries(${everything} INTERFACE surd_${room}${suffix})
  endforeach()
endforeach()
if(TARGET surd-f64)
  list(APPEND surd_programs surd-f64)
endif()

install(TARGETS ${surd_programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS ${surd_installed_libraries} EXPORT surdTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT surdTargets NAMESPACE surd:: DESTINATION ${surd_package_folder})
foreach(room autograd layers data train experiments)
  install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/surd FILES_MATCHING PATTERN "*.hpp"
    PATTERN configs EXCLUDE PATTERN presets EXCLUDE)
endforeach()
install(DIRECTORY experiments/presets experiments/configs experiments/studies DESTINATION ${CMAKE_INSTALL_DATADIR}/surd OPTIONAL)

configure_package_config_file(cmake/surdConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/surdConfig.cmake
  INSTALL_DESTINATION ${surd_package_folder})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/surdConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/surdConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/surdConfigVersion.cmake
  DESTINATION ${surd_package_folder})
