import ControlAPI
import IndexStore
import Testing

@testable import SyncAgent

/// How directories stand, by what of them is selected and here.
struct DirectoryStateTests {
    private static func sum(_ files: Int64, _ directories: Int64 = 0, symlinks: Int64 = 0) -> Aggregate {
        Aggregate(files: files, symlinks: symlinks, directories: directories, bytes: files * 10)
    }

    struct Case: Sendable {
        var selected = Aggregate.zero
        var present = Aggregate.zero
        var isSelected = true
        var isOnDisk = true
        var state: Entry.State
    }

    @Test(arguments: [
        // Nothing of 67 MiB: that the directory is there says nothing.
        Case(selected: sum(5, 2), state: .queued), Case(selected: sum(5, 2), present: sum(0, 2), state: .queued),
        Case(selected: sum(5, 2), isOnDisk: false, state: .queued),
        Case(selected: sum(5, 2), present: sum(4, 2), state: .partial),
        Case(selected: sum(5, 2), present: sum(5, 1), state: .partial),
        Case(selected: sum(5, 2), present: sum(5, 2), state: .present),
        Case(selected: sum(0, 0, symlinks: 2), present: sum(0, 0, symlinks: 1), state: .partial),
        Case(selected: sum(0, 3), present: sum(0, 2), state: .queued),
        Case(selected: sum(0, 3), present: sum(0, 3), state: .present),
        // On the way to what is selected: that counts, and nothing else.
        Case(selected: sum(1), present: sum(1), isSelected: false, state: .present),
        Case(selected: sum(2), present: sum(1), isSelected: false, state: .partial),
        Case(selected: sum(2), isSelected: false, state: .queued),
        // Nothing below it is selected.
        Case(state: .present), Case(isOnDisk: false, state: .queued), Case(isSelected: false, state: .extraneous),
        Case(isSelected: false, isOnDisk: false, state: .absent),
    ])
    func statesAreTrue(_ example: Case) {
        #expect(
            DirectoryState.state(
                selected: example.selected, present: example.present, isSelected: example.isSelected,
                isOnDisk: example.isOnDisk) == example.state)
    }
}
