import FileAccess
import Foundation
import NIOPosix
import Testing

@testable import SyncAgent

@Suite(.timeLimit(.minutes(1))) struct BoundedProgramTests {
    private func run(
        _ script: String, timeLimit: Duration = .seconds(30), outputLimit: Int = 1000
    ) async -> BoundedProgram.Outcome {
        await BoundedProgram(
            path: "/bin/sh", arguments: ["-c", script, "sh", "a b"], environment: ["X=y"], timeLimit: timeLimit,
            outputLimit: outputLimit
        ).run(on: .singleton)
    }

    @Test func givesWhatItWroteAndHowItEnded() async {
        #expect(await run("echo $1 $X; exit 3") == .init(end: .exited(3), output: Array("a b y\n".utf8)))
        #expect(await run("cat").end == .exited(0))
        #expect(await run("kill -9 $$").end == .killed(9))
        let missing = await BoundedProgram(
            path: "/nowhere/program", arguments: [], environment: [], timeLimit: .seconds(1), outputLimit: 1
        ).run(on: .singleton)
        #expect(missing.end == .notStarted(ENOENT) || missing.end == .exited(127))
    }

    @Test func isEndedWithAllThatItStarted() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "bounded-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let outcome = await run("(sleep 1000 & echo $! > \(file); wait)", timeLimit: .milliseconds(300))
        #expect(outcome.end == .timedOut)
        let child = try #require(
            Int32(try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
        // Gone, or dead and not yet reaped by whoever inherited it.
        let state = (try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)) ?? ") Z"
        #expect(state.contains(") Z") || state.contains(") X"), "\(state)")
    }

    @Test func itsOutputHasAnEnd() async {
        let outcome = await run("while :; do echo yes; done", outputLimit: 5000)
        #expect(outcome.end == .outputTooLong)
        #expect(outcome.output.count == 5000)
    }

    @Test func aCancellationEndsIt() async {
        let task = Task { await run("sleep 1000") }
        task.cancel()
        #expect(await task.value.end == .cancelled)
    }

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
