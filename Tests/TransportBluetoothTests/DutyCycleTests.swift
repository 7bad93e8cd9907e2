import Testing
import Transport

@Suite struct DutyCycleTests {
    @Test func isMadeSensible() {
        #expect(DutyCycle(window: .zero, interval: .zero) == DutyCycle(window: .seconds(1), interval: .seconds(1)))
        #expect(DutyCycle(window: .seconds(5), interval: .seconds(2)).interval == .seconds(5))
    }

    @Test(arguments: [
        (DutyCycle.background, 120, 10), (DutyCycle.pairing, 110, 100),
        (DutyCycle(window: .seconds(3), interval: .seconds(3)), 50, 50), (DutyCycle.background, 62, 7),
        (DutyCycle.background, 3, 3),
    ])
    func scansItsShare(_ cycle: DutyCycle, _ limit: Int, _ scanned: Int) {
        var elapsed = Duration.zero
        var sum = Duration.zero
        var count = 0
        while let stretch = cycle.stretch(at: elapsed, until: .seconds(limit)), count < 1000 {
            #expect(stretch.length > .zero)
            if stretch.isScanning { sum += stretch.length }
            elapsed += stretch.length
            count += 1
        }
        #expect(elapsed == .seconds(limit))
        #expect(sum == .seconds(scanned))
    }

    /// What docs/bluetooth.md says of cycles: how much of the time they scan, and how long it takes on average to hear a device
    /// that comes near at any time and advertises once a second from then on.
    @Test(arguments: [
        (DutyCycle.pairing, 90.9, 1), (DutyCycle(window: .seconds(5), interval: .seconds(30)), 16.7, 11),
        (DutyCycle.background, 8.3, 26), (DutyCycle(window: .seconds(5), interval: .seconds(300)), 1.7, 146),
    ])
    func timeUntilADeviceIsHeard(_ cycle: DutyCycle, _ percent: Double, _ seconds: Int) {
        #expect((cycle.window / cycle.interval * 1000).rounded() / 10 == percent)
        var sum = Duration.zero
        var count = 0
        for tenth in 0..<Int(cycle.interval / .milliseconds(100)) {
            for phase in stride(from: 50, to: 1000, by: 100) {
                let arrival = Duration.milliseconds(100 * tenth)
                var heard = arrival + .milliseconds(phase)
                while cycle.stretch(at: heard, until: .seconds(10_000))?.isScanning == false { heard += .seconds(1) }
                sum += heard - arrival
                count += 1
            }
        }
        #expect(Int((sum / count / .seconds(1)).rounded()) == seconds)
    }

    @Test func aWakeUpBetweenChangesNothing() {
        let cycle = DutyCycle(window: .seconds(5), interval: .seconds(60))
        #expect(
            cycle.stretch(at: .seconds(2), until: .seconds(100)) == .init(isScanning: true, length: .seconds(3)))
        #expect(
            cycle.stretch(at: .seconds(59), until: .seconds(100)) == .init(isScanning: false, length: .seconds(1)))
        #expect(cycle.stretch(at: .seconds(100), until: .seconds(100)) == nil)
    }
}
