import AsyncTools
import FileAccess
import Foundation
import Phrases

/// How two texts differ, as the system's diff(1) says it: every Debian has it, people and tools know what it writes.
struct TextDifference: Equatable, Sendable {
    /// Nil if there is none to show.
    var text: String?
    var isCut = false
    /// Why there is no text, as a sentence.
    var remark: Phrase?

    private static let program = "/usr/bin/diff"
    /// Files of more bytes are not compared.
    static let byteLimit = 1 << 20
    private static let outputLimit = 256 << 10
    private static let timeLimit: Duration = .seconds(10)

    /// The difference from the first to the second of two files of a root; nil stands for one that is not there.
    static func between(
        _ first: RelativePath?, _ second: RelativePath?, in root: RootDirectory, labels: (String, String),
        threads: any DiskThreads
    ) async throws -> TextDifference {
        let texts = try await threads.runIfActive { try [first, second].map { try text($0, in: root) } }
        if let remark = texts.compactMap({ $0.remark }).first { return TextDifference(remark: remark) }
        if texts[0].bytes == texts[1].bytes {
            return TextDifference(remark: Phrase("Both versions have the same contents."))
        }
        let directory = NSTemporaryDirectory() + "synctrain-diff-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for (name, text) in zip(["a", "b"], texts) {
            try Data(text.bytes).write(to: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        let outcome = await BoundedProgram(
            path: program,
            arguments: [
                "-u", "--label", labels.0, "--label", labels.1, "--", "\(directory)/a", "\(directory)/b",
            ], environment: ["LC_ALL=C.UTF-8"], timeLimit: timeLimit, outputLimit: outputLimit
        ).run(on: threads)
        switch outcome.end {
        // 1 says that they differ.
        case .exited(1), .outputTooLong:
            return TextDifference(
                text: String(decoding: outcome.output, as: UTF8.self), isCut: outcome.end == .outputTooLong)
        case .notStarted:
            return TextDifference(
                remark: Phrase("\(program) is not installed; install diffutils to compare texts."))
        case .exited, .killed, .timedOut, .cancelled:
            return TextDifference(remark: Phrase("\(program) could not compare the versions."))
        }
    }

    private static func text(
        _ path: RelativePath?, in root: RootDirectory
    ) throws -> (bytes: [UInt8], remark: Phrase?) {
        guard let path, let status = try root.status(of: path) else {
            return ([], Phrase("One of the versions is not on this device."))
        }
        guard status.type == .regular else { return ([], Phrase("One of the versions is not a file.")) }
        guard status.size <= byteLimit else { return ([], Phrase("The versions are too long to compare.")) }
        let bytes = try root.open(reading: path).read(count: byteLimit, at: 0)
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else {
            return ([], Phrase("The versions are not text."))
        }
        return (bytes, nil)
    }
}
