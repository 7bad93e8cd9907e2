import BlockExchange
import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

extension TemporaryDirectory {
    func mode(_ name: String = "") throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: name.isEmpty ? path : "\(path)/\(name)")
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue
    }

    func places() throws -> AgentPlaces { try AgentPlaces.resolve(home: path, environment: ["HOME": "/home/anna"]) }
}

func testDevice(_ number: Int) -> DeviceID { DeviceID(certificateDER: Array("device \(number)".utf8)) }

func parse(_ text: String) throws(ConfigurationError) -> Configuration {
    try ConfigurationText(Array(text.utf8), reader: testReader).configuration
}

let testReader = ConfigurationReader(file: "/c/config.toml", userHome: "/home/anna", hostName: "host")

/// The error that `body` throws; records an issue if it throws none.
func failure(_ body: () throws -> Void, _ location: SourceLocation = #_sourceLocation) -> ConfigurationError? {
    do {
        try body()
        Issue.record("nothing was thrown", sourceLocation: location)
        return nil
    } catch let error as ConfigurationError {
        return error
    } catch {
        Issue.record(error, sourceLocation: location)
        return nil
    }
}
