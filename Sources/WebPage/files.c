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
#embed "page/conflicts.js"
};

static const unsigned char file_5[] = {
#embed "page/devices.js"
};

static const unsigned char file_6[] = {
#embed "page/diff.js"
};

static const unsigned char file_7[] = {
#embed "page/dom.js"
};

static const unsigned char file_8[] = {
#embed "page/extraneous.js"
};

static const unsigned char file_9[] = {
#embed "page/files.js"
};

static const unsigned char file_10[] = {
#embed "page/icons.svg"
};

static const unsigned char file_11[] = {
#embed "page/index.html"
};

static const unsigned char file_12[] = {
#embed "page/invitations.js"
};

static const unsigned char file_13[] = {
#embed "page/log.js"
};

static const unsigned char file_14[] = {
#embed "page/pairing.js"
};

static const unsigned char file_15[] = {
#embed "page/parts.js"
};

static const unsigned char file_16[] = {
#embed "page/refused.js"
};

static const unsigned char file_17[] = {
#embed "page/style.css"
};

static const unsigned char file_18[] = {
#embed "page/views.css"
};

static const struct web_page_file files[] = {
    {"activity.js", file_0, sizeof file_0},
    {"api.js", file_1, sizeof file_1},
    {"app.js", file_2, sizeof file_2},
    {"attention.js", file_3, sizeof file_3},
    {"conflicts.js", file_4, sizeof file_4},
    {"devices.js", file_5, sizeof file_5},
    {"diff.js", file_6, sizeof file_6},
    {"dom.js", file_7, sizeof file_7},
    {"extraneous.js", file_8, sizeof file_8},
    {"files.js", file_9, sizeof file_9},
    {"icons.svg", file_10, sizeof file_10},
    {"index.html", file_11, sizeof file_11},
    {"invitations.js", file_12, sizeof file_12},
    {"log.js", file_13, sizeof file_13},
    {"pairing.js", file_14, sizeof file_14},
    {"parts.js", file_15, sizeof file_15},
    {"refused.js", file_16, sizeof file_16},
    {"style.css", file_17, sizeof file_17},
    {"views.css", file_18, sizeof file_18},
};

size_t web_page_file_count(void) { return sizeof files / sizeof files[0]; }

struct web_page_file web_page_file_at(size_t index) { return files[index]; }
