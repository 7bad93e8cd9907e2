#pragma once
#include <zlib.h>

// inflateInit2 is a macro, which Swift does not see. Raw deflate: a zip has no zlib header around it.
static inline int synctrain_inflate_begin(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }

// Likewise deflateInit2. 16 is for the header of gzip.
static inline int synctrain_gzip_begin(z_stream *stream) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
}
