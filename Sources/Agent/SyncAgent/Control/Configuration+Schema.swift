import AgentConfiguration
import BlockExchange
import ControlAPI

extension Configuration {
    /// Every setting and its value, secrets without their passwords.
    package var settingsDocument: SettingsDocument { settingsDocument(since: nil) }

    /// The same, and what the running agent goes on with until it is started again.
    ///
    /// - Parameter start: what the running agent was started with; nil if none runs.
    package func settingsDocument(since start: Configuration?) -> SettingsDocument {
        SettingsDocument(
            settings: SettingsSchema.agent.map { SettingDescription($0.declaration, usual: $0.usual) }
                + SettingsSchema.folder.map { SettingDescription($0.declaration, usual: $0.usual) }
                + SettingsSchema.device.map { SettingDescription($0.declaration, usual: $0.usual) },
            agent: Self.states(SettingsSchema.agent, of: self, since: start),
            folders: folders.map {
                SettingsSubject(
                    id: $0.id.rawValue, name: $0.label, settings: Self.states(SettingsSchema.folder, of: $0))
            },
            devices: devices.map {
                SettingsSubject(
                    id: $0.id.description, name: $0.name, settings: Self.states(SettingsSchema.device, of: $0))
            })
    }

    private static func states<Root: SettingsRoot>(
        _ settings: [Setting<Root>], of root: Root, since start: Root? = nil
    ) -> [SettingState] {
        settings.map { setting in
            let value = setting.read(root)
            let declaration = setting.declaration
            let shown = shown(value, declaration)
            let running = declaration.effect == .restart ? start.map { setting.read($0) } : nil
            return SettingState(
                key: setting.key, value: shown, values: value.elements, isDefault: value == setting.usual,
                hidesPassword: shown == value.text ? nil : true,
                running: running.flatMap { $0 == value ? nil : Self.shown($0, declaration) })
        }
    }

    private static func shown(_ value: SettingValue, _ declaration: SettingDeclaration) -> String {
        declaration.isSecret ? ServerURL.withoutPassword(value.text) : value.text
    }

    /// The edit that a change means, checked: a configuration with it is sound. A value with a password that is given as it
    /// is shown stays as it is.
    ///
    /// - Parameter userHome: what `~` stands for.
    /// - Throws: `ControlError` (`invalidRequest` for an unknown key or a value that is not allowed; `noSuchFolder`,
    ///   `noSuchDevice`).
    package func edits(applying change: SettingsChange, userHome: String?) throws -> [ConfigurationEdit] {
        let target = try target(of: change)
        do throws(ConfigurationError) {
            let texts = try change.settings.map { (input) throws(ConfigurationError) in
                SettingText(
                    input.key, text: try withPassword(input.value, of: input.key, target), elements: input.values)
            }
            let edit = ConfigurationEdit.set(target, try assignments(target.scope, texts, userHome: userHome))
            _ = try edit.applied(to: self)
            return [edit]
        } catch {
            throw ControlError(.invalidRequest, error.text, path: change.settings.first?.key)
        }
    }

    /// Puts the password in the place of `…`, which stands for it in what is shown. Only into the value that it is of: with
    /// another host the password would go there.
    private func withPassword(
        _ text: String?, of key: String, _ target: SettingTarget
    ) throws(ConfigurationError) -> String? {
        guard target == .agent, let text, let setting = SettingsSchema.agent.first(where: { $0.key == key }),
            setting.declaration.isSecret
        else { return text }
        let value = setting.read(self)
        if text == Self.shown(value, setting.declaration) { return value == .unset ? text : value.text }
        guard !text.contains("…") else {
            throw ConfigurationError(
                .invalidValue, "`\(key)`: enter the password again in place of …; it is not shown.")
        }
        return text
    }

    /// Refuses what a browser may not change, logged in or not: what names a program that the agent runs.
    ///
    /// - Throws: `ControlError` (`noPermission`) with the command to use instead.
    static func checkBrowser(_ change: SettingsChange) throws {
        let scope: SettingDeclaration.Scope = change.folder != nil ? .folder : change.device != nil ? .device : .agent
        for setting in SettingsSchema.declarations(scope)
        where setting.runsProgram && change.settings.contains(where: { $0.key == setting.key }) {
            let command =
                switch scope {
                case .agent: "synctrain config set \(setting.key) …"
                case .folder: "synctrain folder set \(ShellWord.quoted(change.folder ?? "")) \(setting.key)=…"
                case .device: "synctrain device set \(ShellWord.quoted(change.device ?? "")) \(setting.key)=…"
                }
            throw ControlError(
                .noPermission,
                "`\(setting.key)` names a program to run, so it cannot be changed in a browser. Run `\(command)` in a terminal.",
                path: setting.key)
        }
    }

    /// Refuses a change after which the page could not listen where it is to: at an address that other machines reach, without
    /// a password. Other changes of such a configuration are not refused.
    ///
    /// - Throws: `ControlError` (`invalidRequest`) with what to do first.
    package func checkPage(
        _ edits: [ConfigurationEdit], of change: SettingsChange, hasPassword: Bool
    ) throws {
        guard change.settings.contains(where: { $0.key == "http.listen" || $0.key == "http.network" }) else { return }
        let new = try edits.reduce(self) { try $1.applied(to: $0) }
        guard case .refused(let reason) = new.http.listening(hasPassword: hasPassword) else { return }
        throw ControlError(.invalidRequest, reason, path: change.settings.first?.key)
    }

    /// Refuses another path for a folder while its files are not there: it would halt.
    ///
    /// - Throws: `ControlError` (`invalidRequest`) with what to do first.
    package func checkPath(_ edits: [ConfigurationEdit], of change: SettingsChange, places: AgentPlaces) throws {
        guard let id = change.folder, change.settings.contains(where: { $0.key == "path" }) else { return }
        let new = try edits.reduce(self) { try $1.applied(to: $0) }
        let (before, after) = (try folder(FolderID(id)), try new.folder(FolderID(id)))
        guard before.path != after.path else { return }
        do throws(ConfigurationError) {
            try FolderPreparation.checkMoved(after, from: before.path, others: new.folders, places: places)
        } catch {
            throw ControlError(.invalidRequest, "\(after.path): \(error.text)", path: "path")
        }
    }

    /// Refuses a directory for a folder's old versions that has something else.
    ///
    /// - Throws: `ControlError` (`invalidRequest`) with what to do first.
    package func checkArchive(_ edits: [ConfigurationEdit], of change: SettingsChange) throws {
        guard let id = change.folder, change.settings.contains(where: { $0.key.hasPrefix("versions") }) else { return }
        let new = try edits.reduce(self) { try $1.applied(to: $0) }
        let (before, after) = (try folder(FolderID(id)).versions, try new.folder(FolderID(id)).versions)
        guard let path = after.path, before.path != path || before.kind == .none && after.kind != .none else { return }
        do throws(ConfigurationError) {
            try ArchiveMarker.check(path)
        } catch {
            throw ControlError(.invalidRequest, "\(path): \(error.text)", path: "versions-path")
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
    /// - Throws: `ConfigurationError` (`noSuchFolder`, `noSuchDevice`).
    package func answer(
        to change: SettingsChange, in new: Configuration, since start: Configuration?
    ) throws -> SettingsAnswer {
        let target = try target(of: change)
        let (old, now): ([SettingState], [SettingState]) =
            switch target {
            case .agent:
                (
                    Self.states(SettingsSchema.agent, of: self),
                    Self.states(SettingsSchema.agent, of: new, since: start)
                )
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
        return SettingsAnswer(
            settings: change.settings.map { input in
                let state = now.first { $0.key == input.key }
                return SettingsAnswer.Change(
                    key: input.key, from: old.first { $0.key == input.key }?.value ?? "", to: state?.value ?? "",
                    needsRestart: state?.running != nil)
            })
    }
}

extension SettingDescription {
    package init(_ setting: SettingDeclaration, usual: SettingValue) {
        self.init(
            scope: setting.scope.rawValue, key: setting.key, kind: setting.kind.name, allowed: setting.kind.allowed,
            words: setting.kind.words, isList: setting.kind.isList, usual: usual.text, without: setting.without,
            summary: setting.summary, needsRestart: setting.effect == .restart, changedBy: setting.changedBy,
            group: setting.group,
            isAdvanced: setting.isAdvanced, emptyMeans: setting.emptyMeans, runsProgram: setting.runsProgram)
    }
}
