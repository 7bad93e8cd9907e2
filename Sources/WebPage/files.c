// Written by Sources/WebPage/embed; run that instead of editing this.
#include "WebPage.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char file_0[] = {
#embed "page/activity.js"
};

static const unsigned char file_1[] = {
#embed "page/api.js"
};

static const unsigned char file_2[] = {
#embed "page/app.js"
};

static const unsigned char file_3[] = {
#embed "page/attention.js"
};

static const unsigned char file_4[] = {
#embed "page/devices.js"
};

static const unsigned char file_5[] = {
#embed "page/dom.js"
};

static const unsigned char file_6[] = {
#embed "page/files.js"
};

static const unsigned char file_7[] = {
#embed "page/icons.svg"
};

static const unsigned char file_8[] = {
#embed "page/index.html"
};

static const unsigned char file_9[] = {
#embed "page/log.js"
};

static const unsigned char file_10[] = {
#embed "page/style.css"
};

static const struct web_page_file files[] = {
    {"activity.js", file_0, sizeof file_0},
    {"api.js", file_1, sizeof file_1},
    {"app.js", file_2, sizeof file_2},
    {"attention.js", file_3, sizeof file_3},
    {"devices.js", file_4, sizeof file_4},
    {"dom.js", file_5, sizeof file_5},
    {"files.js", file_6, sizeof file_6},
    {"icons.svg", file_7, sizeof file_7},
    {"index.html", file_8, sizeof file_8},
    {"log.js", file_9, sizeof file_9},
    {"style.css", file_10, sizeof file_10},
};

size_t web_page_file_count(void) { return sizeof files / sizeof files[0]; }

struct web_page_file web_page_file_at(size_t index) { return files[index]; }
