import BlockExchange
import SyncDecisions
import Testing

@Suite struct BlockOriginsTests {
    private static let (alice, bob, mallory) = (device("alice"), device("bob"), device("mallory"))

    private static func device(_ name: String) -> DeviceID { DeviceID(certificateDER: Array(name.utf8)) }

    private static func sharing(_ folder: String, _ devices: Set<DeviceID>) -> BlockOrigins.Sharing {
        BlockOrigins.Sharing(folder: FolderID(folder), devices: devices)
    }

    @Test(
        arguments: [
            ("the same devices", [alice], [alice], true),
            ("fewer than there", [alice], [alice, bob], true),
            ("one that is not there", [alice, mallory], [alice], false),
            ("others than there", [mallory], [alice], false),
            ("a folder that is not shared", [alice], [], false),
            ("into a folder that is not shared", [], [alice], false),
            ("neither is shared", [], [], false),
        ] as [(String, Set<DeviceID>, Set<DeviceID>, Bool)])
    func onlyWhatEveryDeviceMayHaveAlready(
        _ name: String, target: Set<DeviceID>, other: Set<DeviceID>, isAllowed: Bool
    ) {
        let others = BlockOrigins.others(for: Self.sharing("f", target), among: [Self.sharing("p", other)])
        #expect(others == (isAllowed ? [FolderID("p")] : []), "\(name)")
    }

    @Test func eachFolderIsDecidedByItself() {
        let folders = [
            Self.sharing("f", [Self.alice, Self.bob]), Self.sharing("both", [Self.alice, Self.bob]),
            Self.sharing("one", [Self.alice]), Self.sharing("more", [Self.alice, Self.bob, Self.mallory]),
        ]
        #expect(BlockOrigins.others(for: folders[0], among: folders) == [FolderID("both"), FolderID("more")])
    }
}
