/// Scanning for `window` at the beginning of every `interval`.
package struct DutyCycle: Equatable, Sendable {
    package var window: Duration
    package var interval: Duration

    /// - Parameters:
    ///   - window: made to be at least a second, as a device advertises about once in that time.
    ///   - interval: made to be at least the window; the same means scanning without a pause.
    package init(window: Duration, interval: Duration) {
        self.window = max(window, .seconds(1))
        self.interval = max(interval, self.window)
    }

    /// While somebody waits for the result: nearly all of the time.
    package static let pairing = DutyCycle(window: .seconds(10), interval: .seconds(11))
    /// For a device that may come near at any time: 5 s of every minute.
    package static let background = DutyCycle(window: .seconds(5), interval: .seconds(60))

    /// One stretch of scanning or of rest.
    package struct Stretch: Equatable {
        package var isScanning: Bool
        package var length: Duration

        package init(isScanning: Bool, length: Duration) {
            self.isScanning = isScanning
            self.length = length
        }
    }

    /// What there is to do from `elapsed` on, and for how long at most until `limit`; nil when the limit has come.
    package func stretch(at elapsed: Duration, until limit: Duration) -> Stretch? {
        guard elapsed < limit else { return nil }
        let position = elapsed.remainder(of: interval)
        let isScanning = position < window
        let end = isScanning ? window - position : interval - position
        return Stretch(isScanning: isScanning, length: min(end, limit - elapsed))
    }
}

extension Duration {
    /// What is left of this after whole multiples of `interval`, which is not zero.
    fileprivate func remainder(of interval: Duration) -> Duration {
        self - interval * Int((self / interval).rounded(.down))
    }
}
