import SyncDecisions
import Testing

@Suite struct VanishedMountsTests {
    @Test(arguments: [
        // Mounted as before.
        (mounted: true, before: false, isEmptied: false, vanished: false),
        (true, false, true, false),
        (true, true, true, false),
        // Not mounted, and nothing there.
        (false, false, true, true),
        (false, true, true, true),
        // Used without the disk.
        (false, false, false, false),
        // It had vanished before somebody put something there.
        (false, true, false, true),
    ])
    func table(mounted: Bool, before: Bool, isEmptied: Bool, vanished: Bool) {
        let names = VanishedMounts.names(
            recorded: ["d/disk"], mounted: mounted ? ["d/disk", "x"] : ["x"], before: before ? ["d/disk"] : []
        ) { _ in isEmptied }
        #expect(names == (vanished ? ["d/disk"] : []))
    }

    @Test func whereNothingWasMountedNothingVanishes() {
        let names = VanishedMounts.names(recorded: [], mounted: [], before: ["d"]) { _ in true }
        #expect(names == [])
    }
}
