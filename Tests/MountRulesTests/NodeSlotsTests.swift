import MountProtocol
import SyncTestKit
import Testing

@testable import MountRules

@Suite struct NodeSlotsTests {
    private func node(_ path: String) -> KeptNode {
        let entry = MountEntry(
            name: path, kind: .file, version: UInt64(path.utf8.count), size: 3, modifiedSeconds: 4,
            modifiedNanoseconds: 5, permissions: 0o640, isHere: true, disk: 6, target: [7])
        return KeptNode(path: path, entry: entry, asOf: .seconds(8), lookups: 9)
    }

    @Test func anEntryIsWhatItWas() {
        var kept = node("d/e")
        let entry = MountEntry(
            name: "e", kind: .symlink, version: 1, size: 2, modifiedSeconds: 3, modifiedNanoseconds: 4,
            permissions: 0o777, isHere: false, disk: 0, target: [5])
        kept.isDetached = true
        kept.entry = entry
        #expect(kept.entry == entry && kept.path == "d/e" && kept.lookups == 9)
        #expect(kept.isDetached && kept.asOf == .seconds(8))
        kept.asOf = nil
        #expect(kept.asOf == nil && kept.entry == entry)
        #expect(MemoryLayout<KeptNode?>.stride <= 96)
    }

    /// Numbers come and go in any order: each has its own node, and no other, as in a dictionary.
    @Test func itIsADictionary() {
        var random = SeededGenerator(seed: 18)
        var (slots, model) = (NodeSlots(), [UInt64: String]())
        for step in 0..<20_000 {
            let number = UInt64.random(in: 0..<3000, using: &random)
            if Bool.random(using: &random) {
                slots[number] = node("\(step)")
                model[number] = "\(step)"
            } else {
                slots[number] = nil
                model[number] = nil
            }
        }
        #expect(Set(slots.numbers) == Set(model.keys) && slots.count == model.count)
        for number in UInt64(0)..<3000 { #expect(slots[number]?.path == model[number]) }
    }
}
