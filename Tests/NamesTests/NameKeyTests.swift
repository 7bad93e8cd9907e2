import Names
import Testing

/// Two files whose names differ in normalization alone have a key each.
@Suite struct NameKeyTests {
    private static let composed = "caf\u{E9}"
    private static let decomposed = "cafe\u{301}"

    @Test func dictionariesHoldBoth() {
        var sizes: [NameKey: Int] = [:]
        sizes[Self.composed] = 1
        sizes[Self.decomposed, default: 1] += 1
        #expect(sizes.count == 2)
        #expect(sizes[Self.composed] == 1 && sizes[Self.decomposed] == 2)
        sizes[Self.composed] = nil
        #expect(sizes.keys.map { Array($0.text.utf8) } == [Array(Self.decomposed.utf8)])
    }

    @Test func setsHoldBoth() {
        var names = Set(names: [Self.composed])
        #expect(names.contains(Self.composed) && !names.contains(Self.decomposed))
        #expect(names.insert(Self.decomposed) && !names.insert(Self.composed))
        #expect(names.count == 2 && names == Set(names: [Self.decomposed, Self.composed]))
    }
}
