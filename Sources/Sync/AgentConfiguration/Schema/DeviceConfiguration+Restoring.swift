import BlockExchange

extension DeviceConfiguration {
    /// What else was said of a device when it was added.
    private static let said: Set = ["id", "name", "addresses"]

    /// What is not as in a new device, but for its id, name and addresses; `restore` sets it again.
    package var changedSettings: [SettingText] {
        let new = DeviceConfiguration(id: id)
        return SettingsSchema.device.compactMap { setting in
            let value = setting.read(self)
            guard !Self.said.contains(setting.key), value != setting.read(new) else { return nil }
            return value.elements.map { SettingText(setting.key, elements: $0) }
                ?? SettingText(setting.key, text: value.text)
        }
    }

    /// Sets what `changedSettings` gave, also what users do not set themselves, such as who introduced the device.
    ///
    /// - Throws: `ConfigurationError` without file and line: `unknownKey` with the nearest key, `invalidValue`, `duplicate`.
    package mutating func restore(_ texts: [SettingText]) throws(ConfigurationError) {
        var seen: Set<String> = []
        for text in texts {
            let declaration = try SettingsSchema.declaration(.device, text.key)
            guard !Self.said.contains(text.key) else {
                throw ConfigurationError(
                    .invalidValue, "`\(declaration.key)` is not one of a device's further settings.")
            }
            guard seen.insert(text.key).inserted else {
                throw ConfigurationError(.duplicate, "`\(text.key)` is given twice; give it once.")
            }
        }
        // In the order of the schema: what follows from one setting comes before those that it may change.
        for setting in SettingsSchema.device {
            guard let text = texts.first(where: { $0.key == setting.key }) else { continue }
            let kind = setting.declaration.kind
            let value = text.elements.map { kind.value($0) } ?? text.text.map { kind.value($0) } ?? setting.usual
            guard let value, setting.write(&self, value) else {
                throw ConfigurationError(
                    .invalidValue,
                    "`\(setting.key)` cannot be \"\((text.text ?? text.elements?.joined(separator: ",") ?? "").prefix(80))\". Use \(kind.allowedText)."
                )
            }
        }
    }
}
