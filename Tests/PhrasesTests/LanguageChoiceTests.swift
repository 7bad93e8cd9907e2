import Phrases
import Testing

@Suite struct LanguageChoiceTests {
    @Test(
        arguments: [
            ([:], nil),
            (["LANG": "de_AT.UTF-8"], "de"),
            (["LANG": "nl"], "nl"),
            (["LANG": "de_DE@euro"], "de"),
            (["LANG": "DE-de"], "de"),
            (["LANG": "fr_FR.UTF-8"], nil),
            (["LANG": "en_GB.UTF-8"], nil),
            (["LANG": "C.UTF-8", "LANGUAGE": "de"], nil),
            (["LC_ALL": "POSIX", "LANG": "de_DE.UTF-8", "LANGUAGE": "de"], nil),
            (["LC_ALL": "", "LC_MESSAGES": "nl_BE.UTF-8", "LANG": "de_DE.UTF-8"], "nl"),
            (["LC_ALL": "de_DE.UTF-8", "LC_MESSAGES": "nl_BE.UTF-8"], "de"),
            (["LANG": "en_US.UTF-8", "LANGUAGE": "de:en"], "de"),
            (["LANG": "de_DE.UTF-8", "LANGUAGE": "fr:nl_BE:de"], "nl"),
            (["LANG": "de_DE.UTF-8", "LANGUAGE": "en:de"], nil),
            (["LANG": "de_DE.UTF-8", "LANGUAGE": "fr"], "de"),
            (["LANGUAGE": "de"], nil),
        ] as [([String: String], String?)])
    func languageFollowsTheLocale(variables: [String: String], language: String?) {
        #expect(LanguageChoice.language(variables, available: ["de", "nl"]) == language)
    }
}
