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

    @Test func failuresAreTriedAgainAtMostAMinuteLater() {
        #expect((0...7).map { MountRetry.pause(after: $0) } == [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) })
        #expect(MountRetry.pause(after: -1) == .seconds(1) && MountRetry.pause(after: .max) == .seconds(60))
    }
}
