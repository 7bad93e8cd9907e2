/// Arithmetic that never traps, for numbers from outside: sizes and times from peers, disks, index rows and requests. A
/// result that does not fit is clamped to the range.
///
/// For display and comparisons only. Where a clamped number would do harm, check the input and refuse it.
extension SignedInteger where Self: FixedWidthInteger {
    /// The sum, clamped to the range.
    package func addingClamped(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        guard overflow else { return sum }
        return other > 0 ? .max : .min
    }

    /// The difference, clamped to the range.
    package func subtractingClamped(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        guard overflow else { return difference }
        return other > 0 ? .min : .max
    }

    /// Adds in place; see `addingClamped`.
    package mutating func addClamped(_ other: Self) { self = addingClamped(other) }

    /// The integer nearest to `value`, ties away from zero; zero for NaN.
    package init(nearest value: Double) {
        guard !value.isNaN else {
            self = 0
            return
        }
        self = Self(exactly: value.rounded()) ?? (value > 0 ? .max : .min)
    }
}
