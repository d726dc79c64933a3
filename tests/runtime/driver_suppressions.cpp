/// Races that ThreadSanitizer reports inside lavapipe, which is not built for it, are not defects found by
/// these tests.

#ifdef __SANITIZE_THREAD__
extern "C" const char* __tsan_default_suppressions() {
    return "race:libvulkan_lvp.so\n";
}
#endif
