/// Which language a program speaks, by the variables of its environment, as gettext's manual has it.
package enum LanguageChoice {
    /// The first language of those wished for that there is.
    ///
    /// `LC_ALL`, `LC_MESSAGES` and `LANG` name the locale, the first that is set; in `C` and `POSIX` it is English. Else
    /// `LANGUAGE` lists languages by preference.
    ///
    /// - Parameter available: codes of ISO 639-1, besides English.
    /// - Returns: one of `available`; nil for English.
    package static func language(_ variables: [String: String], available: Set<String>) -> String? {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { variables[$0] }.first { !$0.isEmpty } ?? "C"
        guard !["c", "posix"].contains(code(locale)) else { return nil }
        let wished = (variables["LANGUAGE"] ?? "").split(separator: ":").map(String.init)
        for name in wished + [locale] {
            let code = code(name)
            if isEnglish(code) { return nil }
            if available.contains(code) { return code }
        }
        return nil
    }

    /// `de` of `de_AT.UTF-8@euro`.
    private static func code(_ locale: String) -> String {
        String(locale.prefix { !"_.@-".contains($0) }).lowercased()
    }

    private static func isEnglish(_ code: String) -> Bool { ["c", "posix", "en"].contains(code) }
}
