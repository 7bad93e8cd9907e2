import Arithmetic
import Testing

@Suite struct ClampedArithmeticTests {
    @Test(
        arguments: [
            (1, 2, 3), (-1, 1, 0), (.max, 1, .max), (1, .max, .max), (.max, .max, .max), (.min, -1, .min),
            (-1, .min, .min),
            (.min, .min, .min), (.max, .min, -1), (.min, .max, -1), (.min, 0, .min),
        ] as [(Int64, Int64, Int64)])
    func `a sum ends where its numbers end`(left: Int64, right: Int64, sum: Int64) {
        #expect(left.addingClamped(right) == sum)
        var total = left
        total.addClamped(right)
        #expect(total == sum)
    }

    @Test(
        arguments: [
            (3, 2, 1), (0, 1, -1), (.min, 1, .min), (.max, -1, .max), (0, .min, .max), (-1, .min, .max),
            (1, .min, .max),
            (.min, .max, .min), (.max, .min, .max), (.min, .min, 0), (-2, .max, .min), (-1, .max, .min),
        ] as [(Int64, Int64, Int64)])
    func `a difference ends where its numbers end`(left: Int64, right: Int64, difference: Int64) {
        #expect(left.subtractingClamped(right) == difference)
    }

    @Test(
        arguments: [
            (0, 0), (0.4, 0), (0.5, 1), (-0.5, -1), (2.5, 3), (1e300, .max), (-1e300, .min), (.infinity, .max),
            (-.infinity, .min), (.nan, 0), (9_223_372_036_854_775_808, .max), (-9_223_372_036_854_775_808, .min),
        ] as [(Double, Int64)])
    func `every number has a nearest integer`(value: Double, nearest: Int64) {
        #expect(Int64(nearest: value) == nearest)
    }
}
