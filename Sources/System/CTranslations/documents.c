// Written by config/translations/catalogue build; run `make translations` instead of editing this.
#include "CTranslations.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char document_de[] = {
#embed "documents/de.json"
};

static const unsigned char document_nl[] = {
#embed "documents/nl.json"
};

static const struct translation_document documents[] = {
    {"de", document_de, sizeof document_de},
    {"nl", document_nl, sizeof document_nl},
};

size_t translation_document_count(void) { return sizeof documents / sizeof documents[0]; }

struct translation_document translation_document_at(size_t index) { return documents[index]; }
