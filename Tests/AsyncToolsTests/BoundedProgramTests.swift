import Foundation
import KernelFiles
import NIOPosix
import Testing

@testable import AsyncTools

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

    /// A file that a child has open for writing counts as in use for as long as the child runs.
    @Test func hasNoOtherDescriptorsOfThisProcess() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "bounded-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let descriptor = open(file, O_WRONLY | O_CREAT, 0o600)
        try #require(descriptor > STDERR_FILENO)
        defer { close(descriptor) }
        let outcome = await run("ls -l /proc/$$/fd")
        #expect(outcome.end == .exited(0))
        #expect(!outcome.output.isEmpty && !String(decoding: outcome.output, as: UTF8.self).contains(file))
    }

    @Test func isEndedWithAllThatItStarted() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "bounded-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        let outcome = await run("(sleep 1000 & echo $! > \(file); wait)", timeLimit: .milliseconds(300))
        #expect(outcome.end == .timedOut)
        let child = try #require(
            Int32(try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)))
        // Gone, or dead and not yet reaped by whoever inherited it; on a busy machine a moment after it was killed.
        var isDead = false
        while !isDead {
            let state = KernelFile.text(at: "/proc/\(child)/stat") ?? ""
            isDead = state.isEmpty || state.contains(") Z") || state.contains(") X")
            await Task.yield()
        }
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
}
