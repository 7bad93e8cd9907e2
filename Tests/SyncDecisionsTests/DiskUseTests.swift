import ControlAPI
import Testing

@testable import SyncDecisions

/// What folders and the cache take of disks.
@Suite struct DiskUseTests {
    private static let first = DiskUse.Disk(number: 1, total: 1000, free: 300)
    private static let second = DiskUse.Disk(number: 2, total: 50, free: 5)

    private static func folder(
        _ id: String, on disk: DiskUse.Disk = first, floor: UInt64 = 0, here: Int64 = 0, selected: Int64 = 0,
        present: Int64 = 0
    ) -> DiskUse.Folder {
        DiskUse.Folder(
            id: id, disk: disk, freeAboveFloor: disk.free - floor, here: here, selected: selected, present: present)
    }

    @Test func foldersOfADiskAreSummed() {
        let report = DiskUse.report(
            [
                Self.folder("a", here: 100, selected: 90, present: 80), Self.folder("b", on: Self.second, here: 7),
                Self.folder("c", here: 20, selected: 50, present: 20),
            ], cache: (Self.second, 3))
        #expect(
            report.disks == [
                .init(folders: ["a", "c"], total: 1000, free: 300, here: 120, selected: 140, present: 100),
                .init(folders: ["b"], total: 50, free: 5, here: 7, cache: 3),
            ])
    }

    @Test func whatDoesNotFitIsCountedOnce() {
        // 300 are free above the floor of both: 250 and 100 are missing.
        let report = DiskUse.report(
            [Self.folder("a", selected: 250), Self.folder("b", selected: 110, present: 10)], cache: nil)
        #expect(report.disks.map(\.short) == [50])
        let floored = DiskUse.report([Self.folder("a", floor: 100, selected: 250)], cache: nil)
        #expect(floored.disks.map(\.short) == [50])
        #expect(DiskUse.report([Self.folder("a", selected: 300)], cache: nil).disks.map(\.short) == [0])
    }

    @Test func theCacheMayBeAlone() {
        #expect(
            DiskUse.report([Self.folder("a")], cache: (Self.second, 3)).disks.map(\.folders) == [["a"], []])
        #expect(DiskUse.report([], cache: nil).disks == [])
    }

    @Test func nonsenseOverflowsNothing() {
        let huge = DiskUse.Disk(number: 1, total: .max, free: .max)
        let report = DiskUse.report(
            [
                Self.folder("a", on: huge, here: .max, selected: .max, present: .min),
                Self.folder("b", on: huge, here: .max, selected: .max, present: .max),
            ], cache: (huge, .max))
        #expect(
            report.disks == [
                .init(
                    folders: ["a", "b"], total: .max, free: .max, here: .max, selected: .max, present: .max, cache: .max
                )
            ])
    }
}
