import AsyncTools
import FileAccess
import Foundation
import NIOPosix
import Testing

@testable import FolderSync

@Suite(.timeLimit(.minutes(1))) struct ConflictCommandTests {
    @Test(
        arguments: [
            (0, "mine\n", .mine), (0, "I think\n theirs \n", .theirs), (0, "both", .both), (0, "merged\n\n", .merged),
            (1, "mine\n", nil), (0, "", nil), (0, "mine theirs\n", nil), (0, "MINE\n", nil), (0, "mine\nno\n", nil),
        ] as [(Int32, String, ConflictCommand.Decision?)])
    func onlyAWordDecides(code: Int32, output: String, decision: ConflictCommand.Decision?) {
        #expect(ConflictCommand.decision(.init(end: .exited(code), output: Array(output.utf8))) == decision)
        #expect(ConflictCommand.decision(.init(end: .timedOut, output: Array(output.utf8))) == nil)
    }

    @Test func textsAreComparedAndOthersAreNot() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "diff-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let root = try RootDirectory(path: directory.path)
        let contents: [String: [UInt8]] = [
            "a": Array("one\ntwo\n".utf8), "b": Array("one\nthree\n".utf8), "c": Array("one\ntwo\n".utf8),
            "nul": [1, 0, 2],
            "latin": [0xe4], "long": [UInt8](repeating: 65, count: TextDifference.byteLimit + 1),
        ]
        for (name, bytes) in contents { try Data(bytes).write(to: directory.appending(path: name)) }
        func between(_ first: String, _ second: String) async throws -> TextDifference {
            try await TextDifference.between(
                RelativePath(first), RelativePath(second), in: root, labels: ("x", "y"), threads: .singleton)
        }
        #expect(try await between("a", "b").text == "--- x\n+++ y\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n")
        #expect(try await between("a", "c") == TextDifference(remark: "Both versions have the same contents."))
        for name in ["nul", "latin"] { #expect(try await between("a", name).remark == "The versions are not text.") }
        #expect(try await between("long", "a").remark == "The versions are too long to compare.")
        #expect(try await between("a", "nowhere").remark == "One of the versions is not on this device.")
    }
}
