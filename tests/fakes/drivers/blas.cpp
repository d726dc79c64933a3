/// Handles of hipBLAS and rocBLAS; built once under each name.

#include "behavior.h"

namespace {
int handle_object;
}

FAKE_DRIVER int hipblasCreate(void** handle) {
    *handle = &handle_object;
    return fake_driver::behave("hipblasCreate");
}

FAKE_DRIVER int hipblasDestroy(void*) {
    return fake_driver::behave("hipblasDestroy");
}

FAKE_DRIVER int rocblas_create_handle(void** handle) {
    *handle = &handle_object;
    return fake_driver::behave("rocblas_create_handle");
}

FAKE_DRIVER int rocblas_destroy_handle(void*) {
    return fake_driver::behave("rocblas_destroy_handle");
}
