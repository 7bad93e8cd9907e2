import Testing

@testable import TransportBluetooth

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

    @Test func aWakeUpBetweenChangesNothing() {
        let cycle = DutyCycle(window: .seconds(5), interval: .seconds(60))
        #expect(
            cycle.stretch(at: .seconds(2), until: .seconds(100)) == .init(isScanning: true, length: .seconds(3)))
        #expect(
            cycle.stretch(at: .seconds(59), until: .seconds(100)) == .init(isScanning: false, length: .seconds(1)))
        #expect(cycle.stretch(at: .seconds(100), until: .seconds(100)) == nil)
    }
}
