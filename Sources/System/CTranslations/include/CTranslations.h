#ifndef C_TRANSLATIONS_H
#define C_TRANSLATIONS_H

#include <stddef.h>

/// The translations into one language, as they were when the program was built: a JSON document in UTF-8,
/// `{"language":"de","name":"Deutsch","decimal":",","texts":{TEMPLATE:TRANSLATION or [ONE, MANY], …}}`.
struct translation_document {
    /// Its code of ISO 639-1.
    const char *language;
    const unsigned char *bytes;
    size_t count;
};

size_t translation_document_count(void);

/// `index` is less than their number.
struct translation_document translation_document_at(size_t index);

#endif
