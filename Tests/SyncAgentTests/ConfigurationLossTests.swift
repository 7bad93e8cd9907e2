import AgentConfiguration
import BlockExchange
import Testing

@testable import SyncAgent

/// What a configuration that was emptied would drop.
struct ConfigurationLossTests {
    private static func configuration(devices: Int, folders: Int) -> Configuration {
        Configuration(
            name: "x",
            devices: (0..<devices).map {
                DeviceConfiguration(id: DeviceID(certificateDER: [UInt8($0)]), name: "d\($0)")
            }, folders: (0..<folders).map { FolderConfiguration(id: FolderID("f\($0)"), path: "/f\($0)") })
    }

    @Test(
        arguments: [
            ((2, 1), (0, 0), "no devices and no folders", "2 devices and 1 folder"),
            ((1, 3), (0, 1), "no devices", "1 device"), ((1, 3), (1, 0), "no folders", "3 folders"),
            ((2, 2), (1, 1), nil, nil), ((0, 0), (0, 0), nil, nil), ((0, 0), (1, 1), nil, nil),
            ((0, 1), (0, 1), nil, nil),
        ] as [((Int, Int), (Int, Int), String?, String?)])
    func allThatIsGoneIsNamed(_ old: (Int, Int), _ new: (Int, Int), _ none: String?, _ all: String?) {
        let loss = Self.configuration(devices: old.0, folders: old.1)
            .loss(in: Self.configuration(devices: new.0, folders: new.1))
        #expect(loss?.none.english == none)
        #expect(loss?.all.english == all)
    }
}
