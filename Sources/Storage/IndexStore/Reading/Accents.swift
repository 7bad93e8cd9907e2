/// Letters without their accents, so that `Cafe` finds `Café`.
package enum Accents {
    /// `text`, which is in lower case, with Latin and Greek letters and Cyrillic vowels without their accents, and without accents that are
    /// characters of their own. A sigma at the end of a word becomes one like any other: in upper case they are the same.
    package static func removed(from text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars where !(0x300...0x36F).contains(scalar.value) {
            result.append(letters[scalar] ?? scalar)
        }
        return String(result)
    }

    private static let letters: [Unicode.Scalar: Unicode.Scalar] = {
        let groups: [(Unicode.Scalar, String)] = [
            ("a", "àáâãäåāăąǎạảấầẩẫậắằẳẵặ"), ("c", "çćĉċč"), ("d", "ďđ"), ("e", "èéêëēĕėęěẹẻẽếềểễệ"), ("g", "ĝğġģǧ"),
            ("h", "ĥħ"), ("i", "ìíîïĩīĭįıǐỉị"), ("j", "ĵ"), ("k", "ķ"), ("l", "ĺļľŀł"), ("n", "ñńņňǹ"),
            ("o", "òóôõöøōŏőǒơọỏốồổỗộớờởỡợ"), ("r", "ŕŗř"), ("s", "śŝşšș"), ("t", "ţťŧț"),
            ("u", "ùúûüũūŭůűųǔưụủứừửữự"), ("w", "ŵ"), ("y", "ýÿŷỳỵỷỹ"), ("z", "źżž"),
            ("α", "ά"), ("ε", "έ"), ("η", "ή"), ("ι", "ίϊΐ"), ("ο", "ό"), ("σ", "ς"), ("υ", "ύϋΰ"), ("ω", "ώ"),
            ("е", "ёѐ"),
        ]
        var letters: [Unicode.Scalar: Unicode.Scalar] = [:]
        for (letter, accented) in groups {
            for scalar in accented.unicodeScalars { letters[scalar] = letter }
        }
        return letters
    }()
}
