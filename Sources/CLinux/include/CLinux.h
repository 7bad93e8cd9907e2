#pragma once
// What Glibc's module does not give Swift: openat2(2) and the constants that go with it.
#include <stdint.h>
#include <sys/types.h>
