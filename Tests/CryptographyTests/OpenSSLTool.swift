import Foundation
import Testing

/// The `openssl` program, in a directory of its own that goes with this value: an opinion other than ours.
final class OpenSSLTool {
    let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "openssl-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Runs `openssl` with the arguments in `line`, which hold no spaces; gives what it prints; fails if it does.
    @discardableResult
    func run(_ line: String, accepting: Set<Int32> = [0]) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = line.split(separator: " ").map(String.init)
        process.currentDirectoryURL = directory
        let output = directory.appending(path: "output-\(UUID().uuidString)")
        _ = FileManager.default.createFile(atPath: output.path, contents: nil)
        let sink = try FileHandle(forWritingTo: output)
        process.standardOutput = sink
        process.standardError = sink
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        let text = try String(contentsOf: output, encoding: .utf8)
        try #require(accepting.contains(process.terminationStatus), "openssl \(line): \(text)")
        return text
    }

    func write(_ text: String, to name: String) throws {
        try text.write(to: directory.appending(path: name), atomically: false, encoding: .utf8)
    }

    func read(_ name: String) throws -> String {
        try String(contentsOf: directory.appending(path: name), encoding: .utf8)
    }

    func readBytes(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: directory.appending(path: name)))
    }

    /// A new self-signed certificate and key, made by openssl with `options` for the key.
    func selfSigned(_ options: String, subject: String = "/CN=syncthing") throws -> (certificate: String, key: String) {
        try run("req -x509 -nodes -days 10 -subj \(subject) -keyout key.pem -out cert.pem \(options)")
        return (try read("cert.pem"), try read("key.pem"))
    }
}
