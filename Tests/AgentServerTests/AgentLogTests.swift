import ControlAPI
import Testing

@testable import synctrain

/// What is read in the log of an agent.
struct AgentLogTests {
    private static let refused =
        "cannot listen on tcp://127.0.0.1:41911: another program uses that port; choose another port"
    private static let harmless = #"{"level":"info","message":"scanning","time":"2026-11-29T10:00:01Z"}"# + "\n"
    private static let logged = #"{"level":"error","message":"the folder cannot sync","time":"2026-11-29T10:00:00Z"}"#

    private static let cases: [(log: String, cause: String?)] = [
        // The error that it ended with, not what it logged before or after.
        (logged + "\nsynctrain: " + refused + "\n", refused),
        ("synctrain: " + refused + "\n" + logged, refused),
        (logged + "\n" + harmless, "the folder cannot sync"),
        (harmless, "scanning"),
        ("2026-11-29T10:00:00Z error   the disk is full\n", "the disk is full"),
        ("Fatal error: out of luck\n", "Fatal error: out of luck"),
        ("\n", nil), ("", nil),
    ]

    @Test(arguments: cases)
    func anAgentThatExitedGivesOneCause(_ log: String, _ cause: String?) {
        #expect(AgentProcess.cause(in: log) == cause)
    }

    /// An agent that finds no room for its log says nothing: then the disk is what is said.
    @Test(
        arguments: [
            ("cannot listen", 0, "failed", "The agent exited at once: cannot listen"),
            (nil, 4096, "failed", "The agent exited at once: It wrote no log."),
            (nil, nil, "failed", "The agent exited at once: It wrote no log."),
            (
                nil, 0, "no-space",
                "The agent exited at once and could not write its log: the disk of /h/agent.log is full. Free some space."
            ),
        ] as [(String?, UInt64?, String, String)])
    func whyAnAgentExitedAtOnce(_ words: String?, _ free: UInt64?, _ code: String, _ message: String) {
        let error = AgentProcess.exitedAtOnce(words, logFile: "/h/agent.log", free: free)
        #expect(error.code.rawValue == code && error.message == message && error.path == "/h/agent.log")
    }

    /// An agent that was stopped by a signal takes connections and never answers.
    @Test func whatIsNeverAnsweredIsGivenUp() async throws {
        let overdue = ControlError(.timeout, "late")
        let (never, continuation) = AsyncStream.makeStream(of: Void.self)
        await #expect(throws: overdue) {
            try await AgentProcess.limited(until: .now, overdue) { for await _ in never {} }
        }
        continuation.finish()
        let far = ContinuousClock.now + .seconds(86_400)
        #expect(try await AgentProcess.limited(until: far, overdue) { 7 } == 7)
        let other = ControlError(.noAgent, "none")
        await #expect(throws: other) { try await AgentProcess.limited(until: far, overdue) { throw other } }
    }
}
