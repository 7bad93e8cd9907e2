import AsyncTools
import Foundation

/// The program that a folder's settings name to decide conflicts: what it is told, and what its answer means.
struct ConflictCommand: Sendable {
    enum Decision: String, Equatable, Sendable { case mine, theirs, both, merged }

    /// A file that is given to it.
    struct Side: Equatable, Sendable {
        /// Absolute; empty for what was deleted.
        var path: String
        /// The device's name, or the start of its id.
        var device: String
    }

    /// The program and its first arguments.
    var words: [String]
    var seconds: Int

    /// More output than this is no answer.
    private static let outputLimit = 64 << 10

    /// - Parameters:
    ///   - merged: Where it may put a file that is to take the place of both.
    ///   - variables: Of the agent's environment, those that programs want.
    func program(
        folder: String, name: String, mine: Side, theirs: Side, merged: String, variables: [String: String]
    ) -> BoundedProgram {
        let told = [
            "SYNCTRAIN_FOLDER": folder, "SYNCTRAIN_PATH": name, "SYNCTRAIN_MINE": mine.path,
            "SYNCTRAIN_MINE_DEVICE": mine.device, "SYNCTRAIN_THEIRS": theirs.path,
            "SYNCTRAIN_THEIRS_DEVICE": theirs.device, "SYNCTRAIN_MERGED": merged,
        ]
        let environment = variables.merging(told) { $1 }.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return BoundedProgram(
            path: words.first ?? "", arguments: words.dropFirst() + [mine.path, theirs.path, merged],
            environment: environment, timeLimit: .seconds(seconds), outputLimit: Self.outputLimit)
    }

    /// The last line of what the program wrote, if it ended with 0; nil if that is no decision, or anything went wrong.
    ///
    /// Its exit code decides nothing: programs that fail, and interpreters that do not find them, end with 1 and 2.
    static func decision(_ outcome: BoundedProgram.Outcome) -> Decision? {
        guard outcome.end == .exited(0) else { return nil }
        let lines = outcome.output.split(separator: UInt8(ascii: "\n"))
        guard let last = lines.last else { return nil }
        let word = String(decoding: last.filter { $0 > 0x20 }, as: UTF8.self)
        return Decision(rawValue: word)
    }

    /// Lends a directory of its own to a command that may merge two files; it goes afterwards, with what is in it.
    static func withMergeDirectory(_ body: (_ directory: String) async throws -> Void) async throws {
        let directory = NSTemporaryDirectory() + "synctrain-merge-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await body(directory)
    }
}
