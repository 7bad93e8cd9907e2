import AgentConfiguration
import ArgumentParser
import BlockExchange
import ControlAPI
import Phrases

struct ConfigCommandGroup: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "config", abstract: translated("Show or change settings of this device."),
            discussion: translated(
                """
                Changes config.toml, keeps its comments, and applies the change in a running agent. Settings of folders and \
                devices: `synctrain folder set`, `synctrain device set`.
                """),
            subcommands: [
                ConfigListCommand.self, ConfigGetCommand.self, ConfigSetCommand.self, ConfigUnsetCommand.self,
                ConfigPathCommand.self,
            ])
    }
}

struct ConfigListCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: translated("List all settings and their values."))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let document = try await context.settings()
        if global.json { return try context.output.print(bytes: try ControlJSON.encode(document)) }
        try context.show(document.agent)
    }
}

struct ConfigGetCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "get", abstract: translated("Print the value of a setting."),
            discussion: translated(
                """
                Prints the value alone. A proxy is printed without its password.

                Example: synctrain config get limits.up
                """))
    }

    @Argument(help: ArgumentHelp(translated("Setting.")), completion: .list(SettingWords.keys(.agent)))
    var key: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try SettingWords.check(key, .agent)
        try context.show(key, of: try await context.settings().agent)
    }
}

struct ConfigSetCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set", abstract: translated("Change a setting."),
            discussion: SettingWords.help(
                .agent,
                translated(
                    """
                    Lists are written as a,b or ["a", "b"], or as several values. An empty value is the default, unless the \
                    setting says otherwise.

                    Example: synctrain config set limits.up 2MiB/s
                    """)))
    }

    @Argument(help: ArgumentHelp(translated("Setting.")), completion: .list(SettingWords.keys(.agent)))
    var key: String

    @Argument(help: ArgumentHelp(translated("Value; several for a list.")))
    var value: [String]

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let input =
            value.count == 1 ? SettingInput(key: key, value: value[0]) : SettingInput(key: key, values: value)
        try SettingWords.check(key, .agent)
        try await context.change(SettingsChange(settings: [input]), of: nil)
    }
}

struct ConfigUnsetCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "unset", abstract: translated("Reset a setting to its default."))
    }

    @Argument(help: ArgumentHelp(translated("Setting.")), completion: .list(SettingWords.keys(.agent)))
    var key: String

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try SettingWords.check(key, .agent)
        try await context.change(SettingsChange(settings: [SettingInput(key: key)]), of: nil)
    }
}

struct ConfigPathCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "path", abstract: translated("Print the path of the configuration file."))
    }

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        try context.print(path: try context.places().configurationFile)
    }
}

struct FolderSetCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set", abstract: translated("Change a folder's settings."),
            discussion: SettingWords.help(
                .folder,
                translated(
                    """
                    Applied at once in a running agent. KEY= resets to the default. Lists are written as a,b or ["a", "b"].

                    Example: synctrain folder set photos type=receiveonly rescan-interval=600 label=Pictures
                    """)))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Argument(
        help: ArgumentHelp(translated("Settings to change; KEY= for the default."), valueName: "key=value"),
        completion: .list(SettingWords.assignments(.folder)))
    var settings: [String]

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let inputs = try await context.inputs(settings, .folder, of: folder)
        if inputs.count == 1, inputs[0].key == "mode", let mode = inputs[0].value, !mode.isEmpty {
            // It rewrites .stignore.
            let answer = try await context.agent().call(
                Endpoints.setFolderMode, FolderModeChange(folder: folder, mode: mode, isDryRun: false))
            return try SelectionReport(context: context).show(answer)
        }
        try await context.change(SettingsChange(folder: folder, settings: inputs), of: folder)
    }
}

struct FolderGetCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "get", abstract: translated("Show a folder's settings."),
            discussion: translated("Example: synctrain folder get photos rescan-interval"))
    }

    @Argument(help: ArgumentHelp(translated("Folder id.")))
    var folder: String

    @Argument(help: ArgumentHelp(translated("Setting; all without it.")), completion: .list(SettingWords.keys(.folder)))
    var key: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let found = try await context.settings().folder(folder)
        if let key { try SettingWords.check(key, .folder) }
        try context.show(key, of: found)
    }
}

struct DeviceGetCommand: RunnableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "get", abstract: translated("Show a device's settings."),
            discussion: translated("Example: synctrain device get nas addresses"))
    }

    @Argument(help: ArgumentHelp(translated("Device id or name.")))
    var device: String

    @Argument(help: ArgumentHelp(translated("Setting; all without it.")), completion: .list(SettingWords.keys(.device)))
    var key: String?

    @OptionGroup var global: GlobalOptions

    func execute(in context: CommandContext) async throws {
        let found = try await context.settings().device(device)
        if let key { try SettingWords.check(key, .device) }
        try context.show(key, of: found)
    }
}

/// Settings as the command line names them.
enum SettingWords {
    static func keys(_ scope: SettingDeclaration.Scope) -> [String] { SettingsSchema.declarations(scope).map(\.key) }

    /// What can be typed for `key=value`: with each word where a setting has only a few.
    static func assignments(_ scope: SettingDeclaration.Scope) -> [String] {
        SettingsSchema.declarations(scope).filter { $0.changedBy == nil }.flatMap { setting in
            setting.kind.words.isEmpty ? ["\(setting.key)="] : setting.kind.words.map { "\(setting.key)=\($0)" }
        }
    }

    /// A command's help, and the settings that can be changed.
    static func help(_ scope: SettingDeclaration.Scope, _ text: String) -> String {
        "\(text)\n\n\(translated("Settings:"))\n\n\(table(scope))"
    }

    /// The settings that can be changed, for help.
    private static func table(_ scope: SettingDeclaration.Scope) -> String {
        SettingsSchema.declarations(scope).filter { $0.changedBy == nil }.map { setting in
            let words = setting.kind.words.isEmpty ? "" : " (\(setting.kind.words.joined(separator: ", ")))"
            return "\(setting.key): \(Translation.current.text(of: setting.summary))\(words)"
        }.joined(separator: "\n")
    }

    /// - Throws: `ControlError` (`invalidRequest`) for an unknown key, with the nearest one.
    static func check(_ key: String, _ scope: SettingDeclaration.Scope) throws {
        do throws(ConfigurationError) {
            _ = try SettingsSchema.declaration(scope, key)
        } catch {
            throw ControlError(.invalidRequest, error.text, path: key)
        }
    }

    /// Reads `KEY=VALUE…`; a key of a list that is there several times has several elements.
    ///
    /// - Throws: `ControlError` (`invalidRequest`) for what has no `=`, an unknown key, or a key that is there twice.
    static func inputs(_ words: [String], _ scope: SettingDeclaration.Scope) throws -> [SettingInput] {
        var inputs: [SettingInput] = []
        for word in words {
            guard let equals = word.firstIndex(of: "=") else {
                throw ControlError(.invalidRequest, "\"\(word)\" is not a setting. Use KEY=VALUE.")
            }
            let (key, value) = (String(word[..<equals]), String(word[word.index(after: equals)...]))
            try check(key, scope)
            guard let index = inputs.firstIndex(where: { $0.key == key }) else {
                inputs.append(SettingInput(key: key, value: value))
                continue
            }
            guard try SettingsSchema.declaration(scope, key).kind.isList else {
                throw ControlError(.invalidRequest, "`\(key)` is given twice; give it once.", path: key)
            }
            let before = inputs[index]
            inputs[index] = SettingInput(key: key, values: (before.values ?? [before.value ?? ""]) + [value])
        }
        return inputs
    }
}

extension SettingsDocument {
    /// - Throws: `ControlError` (`noSuchFolder`), with the nearest id.
    fileprivate func folder(_ id: String) throws(ControlError) -> SettingsSubject {
        guard let found = folders.first(where: { $0.id == id }) else {
            throw ControlError.noSuchFolder(id, among: folders.map(\.id))
        }
        return found
    }

    /// - Throws: `ControlError` (`noSuchDevice`), with the nearest name.
    fileprivate func device(_ reference: String) throws(ControlError) -> SettingsSubject {
        // Typed in small letters or without dashes, an id is the same.
        let id = (try? DeviceID(parsing: reference))?.description ?? reference
        guard let found = devices.first(where: { $0.id == id }) ?? devices.first(where: { $0.name == reference })
        else {
            throw ControlError.noSuchDevice(reference, among: devices.map(\.name))
        }
        return found
    }
}

extension CommandContext {
    /// Reads `KEY=VALUE…` for a folder or device: one that does not exist is named before what is wrong with its settings.
    ///
    /// - Throws: what `SettingWords.inputs` throws; `ControlError` (`noSuchFolder`, `noSuchDevice`).
    func inputs(
        _ words: [String], _ scope: SettingDeclaration.Scope, of subject: String
    ) async throws -> [SettingInput] {
        do {
            return try SettingWords.inputs(words, scope)
        } catch {
            if let known = try? await settings() {
                _ = try scope == .folder ? known.folder(subject) : known.device(subject)
            }
            throw error
        }
    }

    /// All settings, as the agent has them, or as configured if none runs.
    fileprivate func settings() async throws -> SettingsDocument {
        do {
            return try await agent().call(Endpoints.settings)
        } catch let error as ControlError where error.code == .noAgent {
            try checkSetUp(.invalidConfiguration)
            return try environment.settings(try places())
        }
    }

    /// Changes settings and prints a line for each.
    ///
    /// - Parameter subject: the folder or device, as the user named it.
    func change(_ change: SettingsChange, of subject: String?) async throws {
        let places = try places()
        let answer: SettingsAnswer
        do {
            answer = try await environment.connect(places).call(Endpoints.changeSettings, change)
        } catch let error as ControlError where error.code == .noAgent {
            try checkSetUp(.invalidConfiguration)
            guard change.folder == nil || !change.settings.contains(where: { $0.key == "mode" }) else {
                throw ControlError(
                    .noAgent, "`mode` rewrites .stignore. Start the agent and use `synctrain folder mode`.",
                    path: "mode")
            }
            answer = try environment.changeSettings(places, change)
        }
        if options.json { return try output.print(bytes: try ControlJSON.encode(answer)) }
        for setting in answer.settings {
            let (from, to) = (shown(setting.from), shown(setting.to))
            let what = (subject.map { style.name($0) + " " } ?? "") + setting.key
            let restart =
                setting.needsRestart ? translated(" Restart the agent to apply: `\(program) agent restart`.") : ""
            try output.print(
                from == to
                    ? translated("\(what): \(to) (unchanged).") : translated("\(what): \(to) (was \(from)).\(restart)"))
        }
    }

    private func shown(_ value: String) -> String { value.isEmpty ? translated("not set") : EscapedName.escape(value) }

    fileprivate func show(_ settings: [SettingState]) throws {
        let rows = settings.map { [$0.key, EscapedName.escape($0.value), $0.isDefault ? translated("default") : ""] }
        for line in Table.lines(rows, width: outputWidth) { try output.print(line) }
    }

    fileprivate func show(_ key: String?, of subject: SettingsSubject) throws {
        if let key { return try show(key, of: subject.settings) }
        if options.json { return try output.print(bytes: try ControlJSON.encode(subject)) }
        try show(subject.settings)
    }

    fileprivate func show(_ key: String, of settings: [SettingState]) throws {
        guard let state = settings.first(where: { $0.key == key }) else { return }
        if options.json { return try output.print(bytes: try ControlJSON.encode(state)) }
        try output.print(state.value)
    }
}
