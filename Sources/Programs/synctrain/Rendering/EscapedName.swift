/// A name as it may be shown on a terminal.
enum EscapedName {
    /// Writes what a terminal would act on as `\xNN`, byte by byte: control characters (C0, DEL and C1) and the ones that
    /// turn the direction of writing. A backslash becomes two, so that the name can be read back.
    static func escape(_ name: String) -> String { write(name, doublesBackslash: true) }

    /// The same of a sentence, whose backslashes stay: it is read, and not read back, and may say what to type.
    static func sentence(_ text: String) -> String { write(text, doublesBackslash: false) }

    private static func write(_ name: String, doublesBackslash: Bool) -> String {
        guard name.unicodeScalars.contains(where: { isDangerous($0) || $0 == "\\" }) else { return name }
        var text = ""
        for scalar in name.unicodeScalars {
            if scalar == "\\", doublesBackslash {
                text += "\\\\"
            } else if isDangerous(scalar) {
                for byte in String(scalar).utf8 {
                    text += "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
                }
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x200e, 0x200f, 0x2028, 0x2029, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}
