#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include <stddef.h>

/// A file of the page, as it was when the program was built.
struct web_page_file {
    /// Its name in `page/`, without a directory.
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// How many there are, ordered by the bytes of their names.
size_t web_page_file_count(void);

/// `index` is less than their number.
struct web_page_file web_page_file_at(size_t index);

/// What the control API is, in OpenAPI.
struct web_page_file web_page_description(void);

#endif
