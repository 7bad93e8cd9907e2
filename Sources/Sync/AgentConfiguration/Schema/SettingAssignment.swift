import BlockExchange

/// Whose settings are meant.
package enum SettingTarget: Equatable, Sendable {
    case agent
    case folder(FolderID)
    case device(DeviceID)

    package var scope: SettingDeclaration.Scope {
        switch self {
        case .agent: .agent
        case .folder: .folder
        case .device: .device
        }
    }
}

/// A new value of a setting; nil for its default.
package struct SettingAssignment: Equatable, Sendable {
    package var key: String
    package var value: SettingValue?

    package init(_ key: String, _ value: SettingValue?) {
        self.key = key
        self.value = value
    }
}

/// A new value of a setting as a user wrote it: one text, or the elements of a list; neither for its default.
package struct SettingText: Equatable, Sendable {
    package var key: String
    package var text: String?
    package var elements: [String]?

    package init(_ key: String, text: String? = nil, elements: [String]? = nil) {
        self.key = key
        self.text = text
        self.elements = elements
    }
}

extension Configuration {
    /// Reads what a user wrote. An empty text is the default, unless it is a value of its own.
    ///
    /// - Parameter userHome: what `~` stands for.
    /// - Throws: `ConfigurationError` without file and line: `unknownKey` with the nearest key, `invalidValue` with what
    ///   is allowed, `duplicate` for a key that is there twice, `noSuchDevice`.
    package func assignments(
        _ scope: SettingDeclaration.Scope, _ texts: [SettingText], userHome: String?
    ) throws(ConfigurationError) -> [SettingAssignment] {
        var assignments: [SettingAssignment] = []
        for text in texts {
            let declaration = try SettingsSchema.declaration(scope, text.key)
            if let other = declaration.changedBy {
                let isCommand = other.hasPrefix("synctrain ")
                throw ConfigurationError(
                    .invalidValue,
                    isCommand
                        ? "`\(text.key)` cannot be set here; use `\(other)`."
                        : "`\(text.key)` cannot be set: only \(other) changes it.")
            }
            guard !assignments.contains(where: { $0.key == text.key }) else {
                throw ConfigurationError(.duplicate, "`\(text.key)` is given twice; give it once.")
            }
            assignments.append(SettingAssignment(text.key, try value(text, declaration, userHome: userHome)))
        }
        return assignments
    }

    private func value(
        _ text: SettingText, _ declaration: SettingDeclaration, userHome: String?
    ) throws(ConfigurationError) -> SettingValue? {
        let refused = { (shown: String) in
            ConfigurationError(
                .invalidValue,
                "`\(declaration.key)` cannot be \"\(shown.prefix(80))\". Use \(declaration.kind.allowedText).")
        }
        let value: SettingValue?
        if let elements = text.elements {
            value = declaration.kind.value(elements)
        } else if let word = text.text, !word.isEmpty || declaration.emptyMeans != nil {
            value = word.isEmpty ? .text("") : declaration.kind.value(word)
        } else {
            return nil
        }
        guard let value else { throw refused(text.text ?? text.elements?.joined(separator: ",") ?? "") }
        switch (declaration.kind, value) {
        case (.path, .text(let path)):
            do throws(SettingProblem) {
                return .text(try FolderPath.clean(path, userHome: userHome))
            } catch {
                throw ConfigurationError(error.code, "`\(declaration.key)`: \(error.text)")
            }
        case (.devices, .list(let references)):
            var ids: [String] = []
            for reference in references { ids.append(try deviceID(reference, declaration).description) }
            return .list(ids)
        default: return value
        }
    }

    private func deviceID(
        _ reference: String, _ declaration: SettingDeclaration
    ) throws(ConfigurationError) -> DeviceID {
        // What is ignored is not known.
        if declaration.key == "ignored.devices", let id = try? DeviceID(parsing: reference) { return id }
        return try device(reference).id
    }

    /// Changes settings. The result is checked by the caller.
    mutating func assign(_ assignments: [SettingAssignment], to target: SettingTarget) throws(ConfigurationError) {
        switch target {
        case .agent: try SettingsSchema.assign(assignments, SettingsSchema.agent, to: &self)
        case .folder(let id):
            guard let index = folders.firstIndex(where: { $0.id == id }) else {
                _ = try folder(id)
                return
            }
            try SettingsSchema.assign(assignments, SettingsSchema.folder, to: &folders[index])
        case .device(let id):
            guard let index = devices.firstIndex(where: { $0.id == id }) else {
                _ = try device(id.description)
                return
            }
            try SettingsSchema.assign(assignments, SettingsSchema.device, to: &devices[index])
        }
    }
}

extension SettingsSchema {
    fileprivate static func assign<Root: SettingsRoot>(
        _ assignments: [SettingAssignment], _ settings: [Setting<Root>], to root: inout Root
    ) throws(ConfigurationError) {
        for assignment in assignments {
            guard let setting = settings.first(where: { $0.key == assignment.key }) else {
                _ = try declaration(Root.scope, assignment.key)
                continue
            }
            guard setting.write(&root, assignment.value ?? setting.usual) else {
                throw ConfigurationError(
                    .invalidValue,
                    "`\(setting.key)` cannot be \"\(assignment.value?.text.prefix(80) ?? "")\". Use \(setting.declaration.kind.allowedText)."
                )
            }
        }
    }

    /// Writes what `assignments` change from `old` to `new` into the text: each key that is assigned, and each that follows.
    ///
    /// - Parameter set: sets a key, or takes it out where the value is nil.
    static func write<Root: SettingsRoot>(
        _ assignments: [SettingAssignment], _ settings: [Setting<Root>], from old: Root, to new: Root,
        set: (_ key: String, _ old: SettingValue, _ new: SettingValue?) -> Void
    ) {
        for setting in settings {
            let (before, after) = (setting.read(old), setting.read(new))
            let assignment = assignments.first { $0.key == setting.key }
            guard assignment != nil || before != after else { continue }
            set(setting.key, before, assignment.map { $0.value == nil } == true || after == .unset ? nil : after)
        }
    }
}
