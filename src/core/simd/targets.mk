# The instruction sets for which simd/kernels.cpp is compiled. They depend on the machine.
KERNEL_MACHINE := $(shell $(CXX) -dumpmachine)
ifeq ($(KERNEL_MACHINE),)
$(error the compiler $(CXX) does not say what machine it compiles for)
endif
KERNEL_TARGETS = baseline
ifneq ($(filter x86_64-%,$(KERNEL_MACHINE)),)
KERNEL_TARGETS += sse42 avx2 avx512
endif
ifneq ($(filter aarch64-%,$(KERNEL_MACHINE)),)
KERNEL_TARGETS += neon
endif

KERNEL_FLAGS_baseline = -DMINHASH_KERNELS=baseline
KERNEL_FLAGS_sse42    = -DMINHASH_KERNELS=sse42 -msse4.2 -mpopcnt
KERNEL_FLAGS_avx2     = -DMINHASH_KERNELS=avx2 -mavx2 -mbmi -mbmi2 -mpopcnt
# gcc 12 warns about variables that its own intrinsics leave uninitialised.
KERNEL_FLAGS_avx512   = -DMINHASH_KERNELS=avx512 -DMINHASH_AVX512 -mavx2 -mbmi -mbmi2 -mpopcnt \
                        -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512vbmi -mavx512vbmi2 \
                        -mprefer-vector-width=512 -Wno-maybe-uninitialized
KERNEL_FLAGS_neon     = -DMINHASH_KERNELS=neon -DMINHASH_NEON
