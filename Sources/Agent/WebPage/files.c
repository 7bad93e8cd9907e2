// Written by Sources/Agent/WebPage/embed; run that instead of editing this.
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
#embed "page/devices-add.js"
};

static const unsigned char file_6[] = {
#embed "page/devices.js"
};

static const unsigned char file_7[] = {
#embed "page/diff.js"
};

static const unsigned char file_8[] = {
#embed "page/digits.js"
};

static const unsigned char file_9[] = {
#embed "page/directories.js"
};

static const unsigned char file_10[] = {
#embed "page/doctor.js"
};

static const unsigned char file_11[] = {
#embed "page/dom.js"
};

static const unsigned char file_12[] = {
#embed "page/drop-parts.js"
};

static const unsigned char file_13[] = {
#embed "page/drop-state.js"
};

static const unsigned char file_14[] = {
#embed "page/drop.js"
};

static const unsigned char file_15[] = {
#embed "page/extraneous.js"
};

static const unsigned char file_16[] = {
#embed "page/files-code.js"
};

static const unsigned char file_17[] = {
#embed "page/files-deleted.js"
};

static const unsigned char file_18[] = {
#embed "page/files-details.js"
};

static const unsigned char file_19[] = {
#embed "page/files-full.js"
};

static const unsigned char file_20[] = {
#embed "page/files-list.js"
};

static const unsigned char file_21[] = {
#embed "page/files-look.js"
};

static const unsigned char file_22[] = {
#embed "page/files-markdown.js"
};

static const unsigned char file_23[] = {
#embed "page/files-names.js"
};

static const unsigned char file_24[] = {
#embed "page/files-overview.js"
};

static const unsigned char file_25[] = {
#embed "page/files-picks.js"
};

static const unsigned char file_26[] = {
#embed "page/files-preview.js"
};

static const unsigned char file_27[] = {
#embed "page/files-rows.js"
};

static const unsigned char file_28[] = {
#embed "page/files-scroll.js"
};

static const unsigned char file_29[] = {
#embed "page/files-search.js"
};

static const unsigned char file_30[] = {
#embed "page/files-seek.js"
};

static const unsigned char file_31[] = {
#embed "page/files-select.js"
};

static const unsigned char file_32[] = {
#embed "page/files-source.js"
};

static const unsigned char file_33[] = {
#embed "page/files-space.js"
};

static const unsigned char file_34[] = {
#embed "page/files-thumbs.js"
};

static const unsigned char file_35[] = {
#embed "page/files-tiles.js"
};

static const unsigned char file_36[] = {
#embed "page/files-tree.js"
};

static const unsigned char file_37[] = {
#embed "page/files-undo.js"
};

static const unsigned char file_38[] = {
#embed "page/files-upload.js"
};

static const unsigned char file_39[] = {
#embed "page/files.css"
};

static const unsigned char file_40[] = {
#embed "page/files.js"
};

static const unsigned char file_41[] = {
#embed "page/icons.svg"
};

static const unsigned char file_42[] = {
#embed "page/index.html"
};

static const unsigned char file_43[] = {
#embed "page/invitations.js"
};

static const unsigned char file_44[] = {
#embed "page/language.js"
};

static const unsigned char file_45[] = {
#embed "page/log.js"
};

static const unsigned char file_46[] = {
#embed "page/menu.js"
};

static const unsigned char file_47[] = {
#embed "page/mounts.js"
};

static const unsigned char file_48[] = {
#embed "page/pairing.js"
};

static const unsigned char file_49[] = {
#embed "page/parts.js"
};

static const unsigned char file_50[] = {
#embed "page/pending.js"
};

static const unsigned char file_51[] = {
#embed "page/reach.js"
};

static const unsigned char file_52[] = {
#embed "page/ready.js"
};

static const unsigned char file_53[] = {
#embed "page/refused.js"
};

static const unsigned char file_54[] = {
#embed "page/settings-patterns.js"
};

static const unsigned char file_55[] = {
#embed "page/settings-row.js"
};

static const unsigned char file_56[] = {
#embed "page/settings-words.js"
};

static const unsigned char file_57[] = {
#embed "page/settings.js"
};

static const unsigned char file_58[] = {
#embed "page/sha256.js"
};

static const unsigned char file_59[] = {
#embed "page/space.js"
};

static const unsigned char file_60[] = {
#embed "page/style.css"
};

static const unsigned char file_61[] = {
#embed "page/upload.js"
};

static const unsigned char file_62[] = {
#embed "page/views.css"
};

static const unsigned char file_63[] = {
#embed "page/words.js"
};

static const unsigned char description[] = {
#embed "openapi.json"
};

static const struct web_page_file files[] = {
    {"activity.js", file_0, sizeof file_0},
    {"api.js", file_1, sizeof file_1},
    {"app.js", file_2, sizeof file_2},
    {"attention.js", file_3, sizeof file_3},
    {"conflicts.js", file_4, sizeof file_4},
    {"devices-add.js", file_5, sizeof file_5},
    {"devices.js", file_6, sizeof file_6},
    {"diff.js", file_7, sizeof file_7},
    {"digits.js", file_8, sizeof file_8},
    {"directories.js", file_9, sizeof file_9},
    {"doctor.js", file_10, sizeof file_10},
    {"dom.js", file_11, sizeof file_11},
    {"drop-parts.js", file_12, sizeof file_12},
    {"drop-state.js", file_13, sizeof file_13},
    {"drop.js", file_14, sizeof file_14},
    {"extraneous.js", file_15, sizeof file_15},
    {"files-code.js", file_16, sizeof file_16},
    {"files-deleted.js", file_17, sizeof file_17},
    {"files-details.js", file_18, sizeof file_18},
    {"files-full.js", file_19, sizeof file_19},
    {"files-list.js", file_20, sizeof file_20},
    {"files-look.js", file_21, sizeof file_21},
    {"files-markdown.js", file_22, sizeof file_22},
    {"files-names.js", file_23, sizeof file_23},
    {"files-overview.js", file_24, sizeof file_24},
    {"files-picks.js", file_25, sizeof file_25},
    {"files-preview.js", file_26, sizeof file_26},
    {"files-rows.js", file_27, sizeof file_27},
    {"files-scroll.js", file_28, sizeof file_28},
    {"files-search.js", file_29, sizeof file_29},
    {"files-seek.js", file_30, sizeof file_30},
    {"files-select.js", file_31, sizeof file_31},
    {"files-source.js", file_32, sizeof file_32},
    {"files-space.js", file_33, sizeof file_33},
    {"files-thumbs.js", file_34, sizeof file_34},
    {"files-tiles.js", file_35, sizeof file_35},
    {"files-tree.js", file_36, sizeof file_36},
    {"files-undo.js", file_37, sizeof file_37},
    {"files-upload.js", file_38, sizeof file_38},
    {"files.css", file_39, sizeof file_39},
    {"files.js", file_40, sizeof file_40},
    {"icons.svg", file_41, sizeof file_41},
    {"index.html", file_42, sizeof file_42},
    {"invitations.js", file_43, sizeof file_43},
    {"language.js", file_44, sizeof file_44},
    {"log.js", file_45, sizeof file_45},
    {"menu.js", file_46, sizeof file_46},
    {"mounts.js", file_47, sizeof file_47},
    {"pairing.js", file_48, sizeof file_48},
    {"parts.js", file_49, sizeof file_49},
    {"pending.js", file_50, sizeof file_50},
    {"reach.js", file_51, sizeof file_51},
    {"ready.js", file_52, sizeof file_52},
    {"refused.js", file_53, sizeof file_53},
    {"settings-patterns.js", file_54, sizeof file_54},
    {"settings-row.js", file_55, sizeof file_55},
    {"settings-words.js", file_56, sizeof file_56},
    {"settings.js", file_57, sizeof file_57},
    {"sha256.js", file_58, sizeof file_58},
    {"space.js", file_59, sizeof file_59},
    {"style.css", file_60, sizeof file_60},
    {"upload.js", file_61, sizeof file_61},
    {"views.css", file_62, sizeof file_62},
    {"words.js", file_63, sizeof file_63},
};

size_t web_page_file_count(void) { return sizeof files / sizeof files[0]; }

struct web_page_file web_page_file_at(size_t index) { return files[index]; }

struct web_page_file web_page_description(void) {
    return (struct web_page_file){"openapi.json", description, sizeof description};
}
