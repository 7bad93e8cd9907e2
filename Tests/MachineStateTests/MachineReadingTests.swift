import AgentConfiguration
import Diagnosis
import Foundation
import SyncTestKit
import Testing

@testable import MachineState

struct MachineReadingTests {
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    /// A disk that is full keeps the first agent from starting: `doctor` is to see it without an index.
    @Test func theDiskOfTheIndexIsSeenBeforeThereIsOne() throws {
        let places = try AgentPlaces.resolve(home: home.path, environment: [:])
        let reading = MachineReading(places, variables: [:])
        #expect(reading.facts().disks.map(\.path) == [places.stateDirectory])
        #expect(FileManager.default.createFile(atPath: places.index, contents: nil))
        #expect(reading.facts().disks.map(\.path) == [places.index])
    }
}
