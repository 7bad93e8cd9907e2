// The package manager wants one source file in a C target; the functions are inline in the header.
#include "CLinux.h"
