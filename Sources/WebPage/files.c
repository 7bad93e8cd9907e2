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
#embed "page/files-details.js"
};

static const unsigned char file_7[] = {
#embed "page/files-list.js"
};

static const unsigned char file_8[] = {
#embed "page/files-names.js"
};

static const unsigned char file_9[] = {
#embed "page/files-preview.js"
};

static const unsigned char file_10[] = {
#embed "page/files-scroll.js"
};

static const unsigned char file_11[] = {
#embed "page/files-select.js"
};

static const unsigned char file_12[] = {
#embed "page/files-source.js"
};

static const unsigned char file_13[] = {
#embed "page/files-thumbs.js"
};

static const unsigned char file_14[] = {
#embed "page/files-tree.js"
};

static const unsigned char file_15[] = {
#embed "page/files.css"
};

static const unsigned char file_16[] = {
#embed "page/files.js"
};

static const unsigned char file_17[] = {
#embed "page/icons.svg"
};

static const unsigned char file_18[] = {
#embed "page/index.html"
};

static const unsigned char file_19[] = {
#embed "page/log.js"
};

static const unsigned char file_20[] = {
#embed "page/style.css"
};

static const struct web_page_file files[] = {
    {"activity.js", file_0, sizeof file_0},
    {"api.js", file_1, sizeof file_1},
    {"app.js", file_2, sizeof file_2},
    {"attention.js", file_3, sizeof file_3},
    {"devices.js", file_4, sizeof file_4},
    {"dom.js", file_5, sizeof file_5},
    {"files-details.js", file_6, sizeof file_6},
    {"files-list.js", file_7, sizeof file_7},
    {"files-names.js", file_8, sizeof file_8},
    {"files-preview.js", file_9, sizeof file_9},
    {"files-scroll.js", file_10, sizeof file_10},
    {"files-select.js", file_11, sizeof file_11},
    {"files-source.js", file_12, sizeof file_12},
    {"files-thumbs.js", file_13, sizeof file_13},
    {"files-tree.js", file_14, sizeof file_14},
    {"files.css", file_15, sizeof file_15},
    {"files.js", file_16, sizeof file_16},
    {"icons.svg", file_17, sizeof file_17},
    {"index.html", file_18, sizeof file_18},
    {"log.js", file_19, sizeof file_19},
    {"style.css", file_20, sizeof file_20},
};

size_t web_page_file_count(void) { return sizeof files / sizeof files[0]; }

struct web_page_file web_page_file_at(size_t index) { return files[index]; }
