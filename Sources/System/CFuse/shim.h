#pragma once
// libfuse's header wants a version before it. _FILE_OFFSET_BITS stays unset: with it `flock` clashes with Glibc's module,
// and on 64 bit offsets have 64 bits anyway.
#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>
// What the kernel and libfuse say to each other.
#include <linux/fuse.h>
