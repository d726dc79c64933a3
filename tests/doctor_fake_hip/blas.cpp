/// Handles of hipBLAS and rocBLAS; built once under each name.

#include "behaviour.h"

namespace {
int handle_object;
}

FAKE_HIP int hipblasCreate(void** handle) {
    *handle = &handle_object;
    return fake_hip::behave("hipblasCreate");
}

FAKE_HIP int hipblasDestroy(void*) {
    return fake_hip::behave("hipblasDestroy");
}

FAKE_HIP int rocblas_create_handle(void** handle) {
    *handle = &handle_object;
    return fake_hip::behave("rocblas_create_handle");
}

FAKE_HIP int rocblas_destroy_handle(void*) {
    return fake_hip::behave("rocblas_destroy_handle");
}
