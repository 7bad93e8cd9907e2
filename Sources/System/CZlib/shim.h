#pragma once
#include <zlib.h>

// inflateInit2 is a macro, which Swift does not see. Raw deflate: a zip has no zlib header around it.
static inline int synctrain_inflate_begin(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }
