import AgentConfiguration
import BlockExchange
import ControlAPI

extension Configuration {
    /// Every setting and its value, secrets without their passwords.
    package var settingsDocument: SettingsDocument {
        SettingsDocument(
            settings: SettingsSchema.agent.map { SettingDescription($0.declaration, usual: $0.usual) }
                + SettingsSchema.folder.map { SettingDescription($0.declaration, usual: $0.usual) }
                + SettingsSchema.device.map { SettingDescription($0.declaration, usual: $0.usual) },
            agent: Self.states(SettingsSchema.agent, of: self),
            folders: folders.map {
                SettingsSubject(
                    id: $0.id.rawValue, name: $0.label, settings: Self.states(SettingsSchema.folder, of: $0))
            },
            devices: devices.map {
                SettingsSubject(
                    id: $0.id.description, name: $0.name, settings: Self.states(SettingsSchema.device, of: $0))
            })
    }

    private static func states<Root: SettingsRoot>(_ settings: [Setting<Root>], of root: Root) -> [SettingState] {
        settings.map { setting in
            let value = setting.read(root)
            return SettingState(
                key: setting.key, value: shown(value, setting.declaration), values: value.elements,
                isDefault: value == setting.usual)
        }
    }

    private static func shown(_ value: SettingValue, _ declaration: SettingDeclaration) -> String {
        declaration.isSecret ? ServerURL.withoutPassword(value.text) : value.text
    }

    /// The edit that a change means, checked: a configuration with it is sound.
    ///
    /// - Parameter userHome: what `~` stands for.
    /// - Throws: `ControlError` (`invalidRequest` for an unknown key or a value that is not allowed; `noSuchFolder`,
    ///   `noSuchDevice`).
    package func edits(applying change: SettingsChange, userHome: String?) throws -> [ConfigurationEdit] {
        let target = try target(of: change)
        do throws(ConfigurationError) {
            let texts = change.settings.map { SettingText($0.key, text: $0.value, elements: $0.values) }
            let edit = ConfigurationEdit.set(target, try assignments(target.scope, texts, userHome: userHome))
            _ = try applying(edit)
            return [edit]
        } catch {
            throw ControlError(.invalidRequest, error.message, path: change.settings.first?.key)
        }
    }

    private func target(of change: SettingsChange) throws -> SettingTarget {
        if let id = change.folder { return .folder(try folder(FolderID(id)).id) }
        if let reference = change.device { return .device(try device(reference).id) }
        return .agent
    }

    /// What a change did: the values before, in `self`, and after, in `new`.
    ///
    /// - Parameter start: what the running agent was started with; nil if none runs.
    /// - Throws: `ConfigurationError` (`noSuchFolder`, `noSuchDevice`, `unknownKey`).
    package func answer(
        to change: SettingsChange, in new: Configuration, since start: Configuration?
    ) throws -> SettingsAnswer {
        let target = try target(of: change)
        let (old, now): ([SettingState], [SettingState]) =
            switch target {
            case .agent: (Self.states(SettingsSchema.agent, of: self), Self.states(SettingsSchema.agent, of: new))
            case .folder(let id):
                (
                    Self.states(SettingsSchema.folder, of: try folder(id)),
                    Self.states(SettingsSchema.folder, of: try new.folder(id))
                )
            case .device(let id):
                (
                    Self.states(SettingsSchema.device, of: try device(id.description)),
                    Self.states(SettingsSchema.device, of: try new.device(id.description))
                )
            }
        let started = start.map { Self.states(SettingsSchema.agent, of: $0) } ?? []
        return SettingsAnswer(
            settings: try change.settings.map { input in
                let to = now.first { $0.key == input.key }?.value ?? ""
                let running = started.first { $0.key == input.key }?.value
                return SettingsAnswer.Change(
                    key: input.key, from: old.first { $0.key == input.key }?.value ?? "", to: to,
                    needsRestart: try SettingsSchema.declaration(target.scope, input.key).effect == .restart
                        && running.map { $0 != to } ?? false)
            })
    }
}

extension SettingDescription {
    package init(_ setting: SettingDeclaration, usual: SettingValue) {
        self.init(
            scope: setting.scope.rawValue, key: setting.key, kind: setting.kind.name, allowed: setting.kind.allowed,
            words: setting.kind.words, isList: setting.kind.isList, usual: usual.text, without: setting.without,
            summary: setting.summary, needsRestart: setting.effect == .restart, changedBy: setting.changedBy)
    }
}
