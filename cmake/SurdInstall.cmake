# What `cmake --install` leaves behind: the program, headers, libraries, presets, sample configs, and a package, so that
# another project writes find_package(surd) and links surd::surd (Real = float) or surd::surd_f64 (double).
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(surd_package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/surd)
set(surd_installed_libraries surd_options surd_warnings surd_autograd_base surd_data surd_config surd_statistics surd_version
    surd_command_line surd_report_assets)
set(surd_programs surd)

set(surd_suffixes ":")
if(SURD_DOUBLE_BUILD)
  list(APPEND surd_suffixes ":_f64")
  list(APPEND surd_programs surd-f64)
endif()
foreach(entry IN LISTS surd_suffixes)
  string(SUBSTRING ${entry} 1 -1 suffix)
  foreach(room autograd layers train experiments)
    list(APPEND surd_installed_libraries surd_${room}${suffix})
  endforeach()
  # The program is called surd as well, so the library everything hangs on has another name in here.
  add_library(surd_everything${suffix} INTERFACE)
  target_link_libraries(surd_everything${suffix} INTERFACE surd_command_line surd_experiments${suffix})
  set_target_properties(surd_everything${suffix} PROPERTIES EXPORT_NAME surd${suffix})
  list(APPEND surd_installed_libraries surd_everything${suffix})
endforeach()

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
