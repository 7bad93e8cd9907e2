/// Letters without their accents, so that `Cafe` finds `Café`.
package enum Accents {
    /// `text`, which is in lower case, with Latin letters without their accents and without accents that are characters of their own.
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
        ]
        var letters: [Unicode.Scalar: Unicode.Scalar] = [:]
        for (letter, accented) in groups {
            for scalar in accented.unicodeScalars { letters[scalar] = letter }
        }
        return letters
    }()
}
