import AgentContext

/// What this program is: its version, the commit that it was built from, and what it speaks.
enum ProgramVersion {
    static let text = AgentVersion.current

    /// The first digits of the commit, `-modified` behind them if files were changed; nil if that is not known.
    static let commit = BuildCommit.text.isEmpty ? nil : BuildCommit.text

    /// Protocols with other devices, servers and programs, with the version that each is spoken in.
    static let protocols = [
        "BEP v1", "local discovery v4", "global discovery v3", "relay v1", "Bluetooth links v2", "GhostDrop v1",
        "control API v1",
    ]

    /// What `--version` prints.
    static let description = """
        synctrain \(text)
        commit: \(commit ?? "unknown (built outside of its git repository)")
        protocols: \(protocols.joined(separator: ", "))
        """
}

/// The same as an answer.
struct VersionAnswer: Encodable {
    var schema = 1
    var version = ProgramVersion.text
    var commit = ProgramVersion.commit
    var protocols = ProgramVersion.protocols
}
