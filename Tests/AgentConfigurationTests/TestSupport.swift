import BlockExchange
import Foundation
import SyncTestKit
import Testing

@testable import AgentConfiguration

/// A fresh directory, removed when the test lets go of it.
final class TemporaryDirectory {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "synctrain-config-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        path = url.path(percentEncoded: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: "\(path)/\(name)"))
    }

    func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(path)/\(name)")), as: UTF8.self)
    }

    func names(_ name: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(path)/\(name)").sorted()
    }

    func mode(_ name: String = "") throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: name.isEmpty ? path : "\(path)/\(name)")
        return try #require(attributes[.posixPermissions] as? NSNumber).intValue
    }

    func places() throws -> AgentPlaces { try AgentPlaces.resolve(home: path, environment: ["HOME": "/home/anna"]) }
}

/// splitmix64: the same numbers for the same seed, everywhere.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
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
