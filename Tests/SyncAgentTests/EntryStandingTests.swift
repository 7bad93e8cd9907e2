import ControlAPI
import IndexStore
import Testing

@testable import SyncAgent

/// How names stand, by what the index, transfers, links and the disk say.
struct EntryStandingTests {
    struct Case: Sendable {
        var standing: EntryStanding
        var state: Entry.State
        var waitsFor: Entry.Cause?
        var short: Int64?

        init(
            _ state: LocalState, selected: Int64 = 67, present: Int64 = 0, downloads: Int = 0, stored: Int64 = 0,
            free: UInt64? = nil, isAvailable: Bool? = true, obstacle: Phrase? = nil, rest: EntryStanding.Rest? = nil,
            is shown: Entry.State, waitsFor: Entry.Cause? = nil, short: Int64? = nil
        ) {
            standing = EntryStanding(
                state: state, selectedBytes: selected, presentBytes: present, downloads: downloads,
                storedBytes: stored, free: free, isAvailable: isAvailable, obstacle: obstacle, rest: rest)
            (self.state, self.waitsFor, self.short) = (shown, waitsFor, short)
        }
    }

    @Test(arguments: [
        Case(.absent, is: .absent), Case(.present, present: 67, is: .present),
        // A temporary file that has its size and no verified byte is nothing.
        Case(.queued, downloads: 1, is: .queued), Case(.queued, downloads: 1, stored: 16, is: .downloading),
        Case(.partial, present: 16, is: .partial), Case(.partial, present: 16, downloads: 1, is: .downloading),
        // Who has it is not connected: said, unless it still comes from somewhere.
        Case(.queued, isAvailable: false, is: .queued, waitsFor: .device),
        Case(.partial, present: 16, isAvailable: false, is: .partial, waitsFor: .device),
        Case(.queued, downloads: 1, stored: 1, isAvailable: false, is: .downloading, waitsFor: .device),
        Case(.queued, isAvailable: nil, is: .queued), Case(.absent, isAvailable: false, is: .absent),
        // It does not fit: what is here already needs no space.
        Case(.queued, free: 20, is: .queued, waitsFor: .space, short: 47),
        Case(.partial, present: 30, free: 20, is: .partial, waitsFor: .space, short: 17),
        Case(.queued, downloads: 1, stored: 30, free: 20, is: .downloading, waitsFor: .space, short: 17),
        Case(.queued, free: 67, is: .queued), Case(.queued, free: 0, is: .queued, waitsFor: .space, short: 67),
        Case(.present, present: 67, free: 0, is: .present),
        // The most important first.
        Case(.queued, free: 20, rest: .paused, is: .queued, waitsFor: .paused, short: 47),
        Case(.queued, isAvailable: false, rest: .halted, is: .queued, waitsFor: .halted),
        Case(.queued, obstacle: "waits: metered", is: .queued, waitsFor: .policy),
        Case(.present, present: 67, rest: .paused, is: .present),
    ])
    func statesAreTrue(_ example: Case) {
        #expect(example.standing.entryState == example.state)
        #expect(example.standing.waiting?.cause == example.waitsFor)
        #expect(example.standing.short == example.short)
    }

    @Test func neverMoreIsHereThanIsSelected() {
        // A file that is put into its place while it is asked about may be counted twice.
        let standing = EntryStanding(
            state: .partial, selectedBytes: 10, presentBytes: 8, downloads: 1, storedBytes: 5)
        #expect(standing.bytesHere == 10 && standing.entryState == .downloading)
    }

    @Test func aSentenceSaysHowMuchIsShort() {
        let standing = EntryStanding(state: .queued, selectedBytes: 67 << 20, presentBytes: 0, free: 20 << 20)
        #expect(standing.waiting?.message.english == "does not fit: 47 MiB short")
    }
}
