// Written by Sources/WebPage/embed; run that instead of editing this.
#include "WebPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char file_0[] = {
#embed "page/index.html"
};

static const unsigned char description[] = {
#embed "openapi.json"
};

static const struct web_page_file files[] = {
    {"index.html", file_0, sizeof file_0},
};

size_t web_page_file_count(void) { return sizeof files / sizeof files[0]; }

struct web_page_file web_page_file_at(size_t index) { return files[index]; }

struct web_page_file web_page_description(void) {
    return (struct web_page_file){"openapi.json", description, sizeof description};
}
