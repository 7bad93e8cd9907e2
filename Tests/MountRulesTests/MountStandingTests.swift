import Testing

@testable import MountRules

@Suite struct MountStandingTests {
    @Test(
        arguments: [
            (true, true, true, .mounted), (true, true, nil, .mounted), (true, true, false, .notAnswering),
            (true, false, nil, .notAnswering), (false, true, true, .unmounted), (false, false, nil, .unmounted),
        ] as [(Bool, Bool, Bool?, MountStanding)])
    func whatIsShownIsTrue(_ isListed: Bool, _ isConnected: Bool, _ isRunning: Bool?, _ standing: MountStanding) {
        #expect(MountStanding(isListed: isListed, isConnected: isConnected, isRunning: isRunning) == standing)
    }

    struct ServerCase: Sendable {
        var server: MountServerProcess?
        var isAbandoned = false
        var isAgentThere = true
        var said: MountStanding? = .mounted
        var state: MountServerState
    }

    private static func server(isStopped: Bool = false, socket: String = "/own.sock") -> MountServerProcess {
        MountServerProcess(process: 7, isStopped: isStopped, socket: socket)
    }

    @Test(arguments: [
        ServerCase(server: server(), state: .answers),
        ServerCase(server: nil, isAbandoned: true, state: .isGone),
        // Another user's may not be seen.
        ServerCase(server: nil, said: nil, state: .answers),
        ServerCase(server: server(isStopped: true), state: .isStopped(process: 7)),
        ServerCase(server: server(isStopped: true), isAgentThere: false, said: nil, state: .isStopped(process: 7)),
        ServerCase(server: server(), isAgentThere: false, said: nil, state: .hasNoAgent),
        ServerCase(server: server(socket: "/other.sock"), isAgentThere: false, said: nil, state: .answers),
        ServerCase(server: server(), said: .notAnswering, state: .isNotConnected),
        // Mounted since the agent was asked.
        ServerCase(server: server(), said: nil, state: .answers),
    ])
    func whatIsKnownWithoutAsking(_ entry: ServerCase) {
        #expect(
            MountServerState(
                entry.server, isAbandoned: entry.isAbandoned, ownSocket: "/own.sock", isAgentThere: entry.isAgentThere,
                said: entry.said) == entry.state)
    }

    @Test(
        arguments: [
            (["/usr/bin/synctrain-mount", "--socket", "/a b.sock", "--folder", "f", "/m"], "/a b.sock"),
            (["/usr/bin/synctrain-mount", "/m"], nil), (["/usr/bin/synctrain-mount", "--socket"], nil),
        ] as [([String], String?)])
    func theSocketOfAProcess(_ words: [String], _ socket: String?) {
        let line = words.reduce(into: [UInt8]()) { $0 += Array($1.utf8) + [0] }
        #expect(MountPoint.socket(commandLine: line) == socket)
    }

    @Test func failuresAreTriedAgainAtMostAMinuteLater() {
        #expect((0...7).map { MountRetry.pause(after: $0) } == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        #expect(MountRetry.pause(after: -1) == .seconds(1) && MountRetry.pause(after: .max) == .seconds(60))
    }
}
