import SyncTestKit
import Testing

@testable import AgentConfiguration

@Suite struct ArchiveMarkerTests {
    @Test func onlyADirectoryInUseIsRefused() throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/old"
        try ArchiveMarker.mark(path)
        try ArchiveMarker.check(path)
        #expect(try directory.names() == [], "nothing is made")

        try ArchiveMarker.check(directory.path)
        try directory.write("mine", to: "letter~20200101-120000.txt")
        let error = #expect(throws: ConfigurationError.self) { try ArchiveMarker.check(directory.path) }
        #expect(error?.message.contains(ArchiveMarker.name) == true)
        try ArchiveMarker.mark(directory.path)
        try ArchiveMarker.check(directory.path)
        #expect(try directory.names() == [ArchiveMarker.name, "letter~20200101-120000.txt"])
        try ArchiveMarker.mark(directory.path)
    }
}
