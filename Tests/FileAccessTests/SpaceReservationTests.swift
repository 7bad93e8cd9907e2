import SyncTestKit
import Testing

@testable import FileAccess

@Suite struct SpaceReservationTests {
    private struct Step: Sendable {
        var count: UInt64
        var available: UInt64 = 100
        var floor: UInt64 = 0
        var fits: Bool
    }

    @Test func `what is reserved is not given to another file, and the floor to none`() {
        let steps = [
            Step(count: 101, fits: false), Step(count: 91, floor: 10, fits: false),
            Step(count: 60, floor: 10, fits: true), Step(count: 31, floor: 10, fits: false),
            Step(count: 30, floor: 10, fits: true), Step(count: 1, floor: 10, fits: false),
            Step(count: 10, fits: true), Step(count: 1, fits: false), Step(count: 0, floor: .max, fits: true),
            Step(count: .max, available: .max, floor: .max, fits: false), Step(count: 1, available: 50, fits: false),
        ]
        var space = ReservedSpace()
        var reserved: UInt64 = 0
        for step in steps {
            let shortage = space.take(step.count, of: step.available, floor: step.floor)
            #expect(
                shortage
                    == (step.fits
                        ? nil : SpaceShortage(available: step.available, reserved: reserved, floor: step.floor)))
            if step.fits { reserved += step.count }
            #expect(space.byteCount == reserved)
        }
        space.giveBack(40)
        #expect(space.byteCount == 60)
        space.giveBack(.max)
        #expect(space.byteCount == 0)
    }

    /// A folder's setting is about the disk of its root, which may be a thousand times as large.
    @Test func `a disk below the root keeps a hundredth of itself at most`() {
        let floor = SpaceFloor(byteCount: 500, device: 1)
        #expect(floor.bytes(on: 1, of: 1000) == 500 && floor.bytes(on: 1, of: 0) == 500)
        #expect(floor.bytes(on: 2, of: 1000) == 10 && floor.bytes(on: 2, of: 1_000_000) == 500)
        #expect(SpaceFloor(byteCount: 0, device: 1).bytes(on: 2, of: 1000) == 0)
    }

    @Test(arguments: [(0, 0), (1, 4096), (4096, 4096), (4097, 8192), (.max, .max)] as [(UInt64, UInt64)])
    func `files take whole blocks`(byteCount: UInt64, blocks: UInt64) {
        #expect(ReservedSpace.inBlocks(byteCount) == blocks)
    }

    @Test func `a staged file keeps room until its bytes are written or it ends`() throws {
        let directory = try TemporaryTree()
        let (root, reservations) = (directory.root, SpaceReservations())
        var reserved: UInt64 { root.reservedByteCount(in: reservations) }
        // More than half of the disk, whatever others write to it meanwhile.
        let most = try root.freeSpace().available / 5 * 3 & ~4095
        let first = try root.stage(relative("a"))
        #expect(try first.reserve(most, in: reservations) == nil)
        try first.truncate(to: Int64(clamping: most))
        let second = try root.stage(relative("b"))
        #expect(try second.reserve(most, in: reservations)?.reserved == most)
        #expect(reserved == most)
        try first.write([1, 2, 3], at: 0)
        #expect(reserved == most - 3)
        try first.discard()
        #expect(reserved == 0)
        #expect(try second.reserve(most, in: reservations) == nil)
        #expect(try second.reserve(5, in: reservations) == nil)
        #expect(reserved == 4096)
        try second.write([UInt8](repeating: 0, count: 4096), at: 0)
        #expect(reserved == 0)
        #expect(try second.reserve(5, in: reservations) == nil)
        _ = try second.commit(replacing: .nothing, permissions: nil, modified: nil)
        #expect(reserved == 0)
        do {
            let third = try root.stage(relative("c"))
            #expect(try third.reserve(7, in: reservations) == nil)
            #expect(reserved == 4096)
        }
        #expect(reserved == 0)
    }
}
