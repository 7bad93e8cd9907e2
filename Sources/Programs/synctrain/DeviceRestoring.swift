import ControlAPI

/// The options of `device add` that bring a removed device back as it was. Pure.
enum DeviceRestoring {
    /// `device add …` for the shell.
    static func command(_ device: DeviceSettings) -> String {
        var words = ["device", "add", device.id]
        if let name = device.name, !name.isEmpty { words += ["--name", name] }
        for address in device.addresses ?? [] { words += ["--address", address] }
        for setting in device.settings ?? [] {
            words += ["--set", "\(setting.key)=\(setting.values.map(list) ?? setting.value ?? "")"]
        }
        for folder in device.folders ?? [] { words += ["--share", text(folder)] }
        return words.map(ShellWord.quoted).joined(separator: " ")
    }

    /// Reads `KEY=VALUE`.
    ///
    /// - Throws: `ControlError` (`invalidRequest`) for anything else.
    static func setting(_ text: String) throws(ControlError) -> SettingInput {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw ControlError(.invalidRequest, "`\(text)` is not a setting; write it as KEY=VALUE.")
        }
        return SettingInput(key: String(text[..<equals]), value: String(text[text.index(after: equals)...]))
    }

    /// Reads `FOLDER`, or `FOLDER=ROLE,encrypted,by:DEVICE` with any of the three. What is behind the last `=` is taken for part of
    /// the folder's id if it is anything else.
    static func share(_ text: String) -> DeviceShare {
        guard let equals = text.unicodeScalars.lastIndex(of: "=") else { return DeviceShare(folder: text) }
        var share = DeviceShare(folder: String(text[..<equals]))
        for word in text[text.unicodeScalars.index(after: equals)...].split(separator: ",") {
            switch word {
            case "read", "write", "admin": share.role = String(word)
            case "encrypted": share.isEncrypted = true
            case _ where word.hasPrefix("by:"): share.introducedBy = String(word.dropFirst(3))
            default: return DeviceShare(folder: text)
            }
        }
        return share
    }

    private static func text(_ share: DeviceShare) -> String {
        let words =
            [share.role, share.isEncrypted == true ? "encrypted" : nil, share.introducedBy.map { "by:\($0)" }]
            .compactMap { $0 }
        // An id with a `=` in it is told from a role by what follows.
        return words.isEmpty && !share.folder.unicodeScalars.contains("=")
            ? share.folder : "\(share.folder)=\(words.isEmpty ? "write" : words.joined(separator: ","))"
    }

    /// A list in one word, as `config set` reads it.
    private static func list(_ values: [String]) -> String {
        guard
            values.isEmpty
                || values.contains(where: { $0.unicodeScalars.contains(",") || $0.unicodeScalars.first == "[" })
        else {
            return values.joined(separator: ",")
        }
        let quoted = values.map { value in
            "\"" + value.replacingScalars(["\\": "\\\\", "\"": "\\\""]) + "\""
        }
        return "[" + quoted.joined(separator: ", ") + "]"
    }
}
