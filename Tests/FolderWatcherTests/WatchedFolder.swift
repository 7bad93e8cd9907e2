import AsyncTools
import FileAccess
import Foundation
import Glibc
import Logging
import SyncTestKit
import Synchronization
import Testing

@testable import FolderWatcher

/// A temporary folder and what a watcher of it has reported.
final class WatchedFolder: Sendable {
    let tree: TemporaryTree
    let watcher: FolderWatcher
    private let reports = Mutex<[WatchReport]>([])
    private let hasChanges = Signal()
    private let log = Log()

    /// The program under test, which lies where the tests do.
    static let program = WatchProgram.besideExecutable()

    init(
        program: String = WatchedFolder.program,
        isWatched: @escaping @Sendable (RelativePath?) -> Bool = { _ in true }
    ) throws {
        tree = try TemporaryTree()
        try tree.makeDirectory(".stfolder")
        var settings = WatchSettings()
        settings.restartDelay = .milliseconds(1)
        watcher = FolderWatcher(
            root: tree.root, program: program, isWatched: isWatched, settings: settings,
            logger: Logger(label: "watcher") { [log] _ in log })
    }

    /// What the watcher has logged. Of states that follow each other at once only the last is reported.
    var logged: [String] { log.messages.value.withLock { $0 } }

    private struct Log: LogHandler {
        final class Messages: Sendable { let value = Mutex<[String]>([]) }

        let messages = Messages()
        var logLevel = Logger.Level.debug
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { messages.value.withLock { $0.append("\(event.message)") } }
    }

    /// Runs the watcher around `body`.
    func watching(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await self.watcher.run { report in
                    self.reports.withLock { $0.append(report) }
                    self.hasChanges.notify()
                }
            }
            try await body()
            group.cancelAll()
        }
        #expect(watcher.state == .stopped)
    }

    var all: [WatchReport] { reports.withLock { $0 } }
    func forget() { reports.withLock { $0 = [] } }

    /// Waits for reports since the last `forget` that satisfy `condition`; the test's time limit is the guard.
    func until(_ condition: ([WatchReport]) -> Bool) async throws {
        while !condition(all) {
            await hasChanges.wait()
            try Task.checkCancellation()
        }
    }

    /// Waits until all watches are set, and forgets what was reported up to then.
    func untilSet(_ reason: RescanReason = .started) async throws {
        try await until { $0.contains(.rescan(nil, reason)) }
        forget()
    }

    func untilCovered(_ names: [String]) async throws {
        let paths = try names.map { try RelativePath(parsing: $0) }
        try await until { reports in
            let coverage = Coverage(reports)
            return paths.allSatisfy { coverage.covers($0) }
        }
    }

    var url: URL { tree.url }
    var root: RootDirectory { tree.root }
    func path(_ relative: String) -> String { tree.path(relative) }
    func outside(_ relative: String) -> String { tree.outside(relative) }
    func write(_ text: String, to relative: String) throws { try tree.write(text, to: relative) }
    func makeDirectory(_ relative: String) throws { try tree.makeDirectory(relative) }

    func move(_ from: String, _ to: String) throws {
        guard Glibc.rename(from, to) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    /// Writes an executable script and gives its path.
    func script(_ text: String) throws -> String {
        let path = outside("script-\(UUID().uuidString)")
        try "#!/bin/sh\n\(text)\n".write(toFile: path, atomically: false, encoding: .utf8)
        guard chmod(path, 0o755) == 0 else { throw POSIXError(.EACCES) }
        return path
    }

    /// The processes of the watch program for this folder, zombies included.
    func programs() throws -> [pid_t] {
        try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }.filter { process in
            let line = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
            return line?.contains(url.path) ?? false
        }
    }
}
