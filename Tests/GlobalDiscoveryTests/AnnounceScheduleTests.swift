import GlobalDiscovery
import SyncTestKit
import Testing

@Suite struct AnnounceScheduleTests {
    /// A schedule whose first announcement has succeeded at 5 s.
    private func announced(reannounceAfter: Duration? = .seconds(3500)) -> AnnounceSchedule {
        var schedule = AnnounceSchedule(at: .zero, jitter: 0.5)
        #expect(schedule.begin(at: .seconds(5)) == true)
        schedule.succeeded(reannounceAfter: reannounceAfter, at: .seconds(5))
        return schedule
    }

    @Test(arguments: [(-1, 3000), (0, 3000), (0.25, 4000), (1, 7000), (9, 7000)] as [(Double, Int)])
    func theFirstAnnouncementIsSpread(jitter: Double, milliseconds: Int) {
        #expect(AnnounceSchedule(at: .seconds(100), jitter: jitter).next == .seconds(100) + .milliseconds(milliseconds))
    }

    @Test func beginsWhenItIsDue() {
        var schedule = AnnounceSchedule(at: .seconds(100), jitter: 0.5)
        #expect(schedule.next == .seconds(105))
        #expect(schedule.begin(at: .seconds(104)) == false)
        #expect(schedule.begin(at: .seconds(105)) == true)
        #expect(schedule.next == nil)
        #expect(schedule.begin(at: .seconds(106)) == false)
    }

    @Test(
        arguments: [
            (3500, 3505), (nil, 1805), (0, 65), (86_400, 5405), (3_155_760_000, 5405),
        ] as [(Int64?, Int64)])
    func obeysReannounceAfterWithinBounds(seconds: Int64?, next: Int64) {
        #expect(announced(reannounceAfter: seconds.map { .seconds($0) }).next == .seconds(next))
    }

    @Test(
        arguments: [
            (1600, 1605), (nil, 335), (0, 35), (86_400, 3605),
        ] as [(Int64?, Int64)])
    func obeysRetryAfterWithinBounds(seconds: Int64?, next: Int64) {
        var schedule = AnnounceSchedule(at: .zero, jitter: 0.5)
        _ = schedule.begin(at: .seconds(5))
        schedule.failed(
            retryAfter: seconds.map { .seconds($0) }, isOverloaded: false, jitter: 0.5, at: .seconds(5))
        #expect(schedule.next == .seconds(next))
    }

    @Test func waitsUntilAddressesSettle() {
        var schedule = announced()
        schedule.addressesChanged(at: .seconds(100))
        #expect(schedule.next == .seconds(102))
        schedule.addressesChanged(at: .seconds(101))
        #expect(schedule.next == .seconds(103))
    }

    @Test func pausesAfterTenChangesInARow() {
        var schedule = announced()
        for second in 101...109 {
            schedule.addressesChanged(at: .seconds(second))
            #expect(schedule.next == .seconds(second + 2))
        }
        schedule.addressesChanged(at: .seconds(110))
        #expect(schedule.next == .seconds(410))
        schedule.addressesChanged(at: .seconds(400))
        #expect(schedule.next == .seconds(410))
        // The announcement begins a new count.
        #expect(schedule.begin(at: .seconds(410)) == true)
        schedule.succeeded(reannounceAfter: nil, at: .seconds(411))
        schedule.addressesChanged(at: .seconds(420))
        #expect(schedule.next == .seconds(422))
    }

    @Test func announcesAgainWhatChangedMeanwhile() {
        var schedule = announced()
        schedule.networkChanged(at: .seconds(100))
        #expect(schedule.begin(at: .seconds(100)) == true)
        schedule.addressesChanged(at: .seconds(101))
        #expect(schedule.next == nil)
        schedule.succeeded(reannounceAfter: .seconds(3500), at: .seconds(102))
        #expect(schedule.next == .seconds(104))
    }

    @Test func announcesAtOnceOnAnotherNetworkButNotWithoutEnd() {
        var schedule = announced()
        schedule.networkChanged(at: .seconds(100))
        #expect(schedule.next == .seconds(100))
        #expect(schedule.begin(at: .seconds(100)) == true)
        schedule.succeeded(reannounceAfter: nil, at: .seconds(101))
        schedule.networkChanged(at: .seconds(103))
        #expect(schedule.next == .seconds(110))
    }

    @Test func nothingToAnnounceIsNoError() {
        var schedule = AnnounceSchedule(at: .zero, jitter: 0.5)
        _ = schedule.begin(at: .seconds(5))
        schedule.skipped(at: .seconds(5))
        #expect(schedule.next == .seconds(305))
        schedule.addressesChanged(at: .seconds(20))
        #expect(schedule.next == .seconds(22))
    }

    @Test func changesOvertakeARefusalButNotOverload() {
        for isOverloaded in [false, true] {
            var schedule = AnnounceSchedule(at: .zero, jitter: 0.5)
            _ = schedule.begin(at: .seconds(5))
            schedule.failed(retryAfter: .seconds(1000), isOverloaded: isOverloaded, jitter: 0, at: .seconds(5))
            schedule.addressesChanged(at: .seconds(50))
            #expect(schedule.next == .seconds(isOverloaded ? 1005 : 52))
            schedule.networkChanged(at: .seconds(60))
            #expect(schedule.next == .seconds(isOverloaded ? 1005 : 60))
        }
    }

    /// Whatever happens, requests to one server are never closer than two seconds on average over ten.
    @Test(arguments: 0..<20) func neverFloodsTheServer(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var schedule = AnnounceSchedule(at: .zero, jitter: 0.5)
        var attempts: [Duration] = []
        var now = Duration.zero
        for _ in 0..<5000 {
            now += .milliseconds(random.int(1...500))
            switch random.int(0...3) {
            case 0: schedule.addressesChanged(at: now)
            case 1: schedule.networkChanged(at: now)
            default: break
            }
            guard schedule.begin(at: now) else { continue }
            attempts.append(now)
            switch random.int(0...2) {
            case 0: schedule.succeeded(reannounceAfter: .seconds(random.int(-5...9999)), at: now)
            case 1:
                schedule.failed(
                    retryAfter: .seconds(random.int(-5...9999)), isOverloaded: false, jitter: 7, at: now)
            default: schedule.skipped(at: now)
            }
        }
        #expect(!attempts.isEmpty)
        for (earlier, later) in zip(attempts, attempts.dropFirst()) { #expect(later - earlier >= .seconds(2)) }
    }
}
