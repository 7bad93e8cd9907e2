import Glibc

/// The configuration file of one agent: read whole, edited as text, replaced atomically.
///
/// Any number of processes may use it at once: an edit reads, changes and writes under a lock beside the file.
package struct ConfigurationFile: Sendable {
    /// Absolute.
    package let path: String
    private let reader: ConfigurationReader
    /// Of the device that it is of.
    private let identityFiles: [String]

    /// `hostName` names this device where the file does not.
    package init(_ places: AgentPlaces, hostName: String = ConfigurationFile.systemHostName()) {
        path = places.configurationFile
        reader = ConfigurationReader(
            file: places.configurationFile, userHome: places.userHome, hostName: hostName)
        identityFiles = [places.certificate, places.privateKey]
    }

    /// What the file says. Throws `missing` if there is none; every other error names the line and what to write.
    package func load() throws(ConfigurationError) -> Configuration { try text().configuration }

    /// Makes the file: annotated, with these settings. Throws `alreadyExists` if there is one.
    @discardableResult
    package func create(
        name: String? = nil, listen: [String]? = nil, discovery: Configuration.Discovery = Configuration.Discovery(),
        relays: Configuration.Relays = Configuration.Relays(), mapsPorts: Bool = true, edits: [ConfigurationEdit] = []
    ) throws(ConfigurationError) -> Configuration {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        let text = try newText(
            name: name, listen: listen, discovery: discovery, relays: relays, mapsPorts: mapsPorts, edits: edits)
        try StoredFile.write(text.bytes, to: path, mode: 0o600, isReplacing: false)
        return text.configuration
    }

    /// Throws what `create` would throw for these settings; writes nothing.
    package func checkNew(
        name: String?, listen: [String]?, discovery: Configuration.Discovery, relays: Configuration.Relays,
        mapsPorts: Bool, edits: [ConfigurationEdit]
    ) throws(ConfigurationError) {
        _ = try newText(
            name: name, listen: listen, discovery: discovery, relays: relays, mapsPorts: mapsPorts, edits: edits)
    }

    private func newText(
        name: String?, listen: [String]?, discovery: Configuration.Discovery, relays: Configuration.Relays,
        mapsPorts: Bool, edits: [ConfigurationEdit]
    ) throws(ConfigurationError) -> ConfigurationText {
        let template = DefaultConfiguration.text(
            name: name, listen: listen, discovery: discovery, relays: relays, mapsPorts: mapsPorts)
        var text = try ConfigurationText(Array(template.utf8), reader: reader)
        for edit in edits { text = try text.applying(edit) }
        return text
    }

    /// Makes all of `edits` or, if one of them cannot be made, none; durable on return. Gives what the file then says.
    ///
    /// Comments and layout of the rest stay. A symbolic link at `path` stays one. Throws `busy` if another process holds
    /// the lock for longer than five seconds.
    ///
    /// - Parameter check: Gets what the file says before; what it throws ends the call with nothing changed.
    @discardableResult
    package func apply(
        _ edits: [ConfigurationEdit], check: (Configuration) throws(ConfigurationError) -> Void = { _ in }
    ) throws(ConfigurationError) -> Configuration {
        let lock = try lock()
        defer { withExtendedLifetime(lock) {} }
        var text = try text()
        try check(text.configuration)
        for edit in edits { text = try text.applying(edit) }
        try StoredFile.write(text.bytes, to: path, mode: 0o600, isReplacing: true)
        return text.configuration
    }

    @discardableResult
    package func apply(_ edit: ConfigurationEdit) throws(ConfigurationError) -> Configuration { try apply([edit]) }

    private func text() throws(ConfigurationError) -> ConfigurationText {
        guard let bytes = try StoredFile.read(path, byteLimit: ConfigurationLimits.byteCount) else {
            // `init` leaves a device alone that has an identity.
            let isLost = identityFiles.contains { access($0, F_OK) == 0 }
            throw ConfigurationError(
                .missing,
                isLost
                    ? "the configuration of this device is missing; restore it from a backup, or create one without devices and folders with `synctrain init`"
                    : "no configuration; create one with `synctrain init`", file: path)
        }
        return try ConfigurationText(bytes, reader: reader)
    }

    private func lock() throws(ConfigurationError) -> FileLock {
        let path = self.path + ".lock"
        guard let lock = try FileLock.take(path, attempts: 250) else {
            throw ConfigurationError(
                .busy, "another process has locked the configuration for five seconds; stop it and try again",
                file: path)
        }
        return lock
    }

    package static func systemHostName() -> String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "synctrain" }
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.isEmpty || Configuration.problem(name: text) != nil ? "synctrain" : text
    }
}
