import BlockExchange
import Cryptography
import FileAccess
import FolderScanner
import Foundation
import Glibc
import Selection

/// How fast a folder is scanned, against SHA-256 of as many bytes in memory in the same run.
///
///     ScanBenchmark [--workers N]                     20,000 files of 4 KiB and one of 2 GiB, made and removed
///     ScanBenchmark [--workers N] DIRECTORY           a directory of yours, only read
///     ScanBenchmark [--workers N] --directories 50000 that many directories, one of them selected
@main
enum ScanBenchmark {
    static func main() async throws {
        var arguments = CommandLine.arguments.dropFirst()
        var workers = ScanOptions.Workers.perProcessor
        var directoryCount: Int?
        var directory: String?
        while let argument = arguments.popFirst() {
            switch argument {
            case "--workers": workers = .threads(arguments.popFirst().flatMap { Int($0) } ?? 1)
            case "--directories": directoryCount = arguments.popFirst().flatMap { Int($0) } ?? 50_000
            default: directory = argument
            }
        }
        var options = ScanOptions()
        options.workers = workers
        if let directory { return try await measure(directory, options) }
        let place = FileManager.default.temporaryDirectory.appending(path: "ScanBenchmark-\(getpid())").path
        defer { try? FileManager.default.removeItem(atPath: place) }
        if let directoryCount {
            try await measureSelection(place, directoryCount, options)
        } else {
            try makeSmallFiles(place + "/small")
            try await measure(place + "/small", options)
            try makeLargeFile(place + "/large")
            try await measure(place + "/large", options)
        }
    }

    // MARK: measuring

    static func measure(_ path: String, _ options: ScanOptions) async throws {
        let root = try RootDirectory(path: path)
        // Once without counting: afterwards everything is in memory.
        _ = try await scan(root, .everything, MemoryIndex(), options)
        let index = MemoryIndex()
        let first = try await scan(root, .everything, index, options)
        let bytes = Double(first.report.bytesHashed)
        let memory = rawSeconds(bytes: first.report.bytesHashed)
        print(
            "\(path): \(first.report.filesHashed) files, \(format(bytes / 1e6)) MB in \(format(first.wall, 3)) s "
                + "(\(format(first.processor, 3)) s of processor): \(Int(Double(first.report.filesHashed) / first.wall)) "
                + "files/s, \(Int(bytes / 1e6 / first.wall)) MB/s, \(Int(bytes / 1e6 / first.processor)) MB per second "
                + "of processor")
        print(
            "  SHA-256 of as many bytes in memory, one thread: \(format(memory, 3)) s, \(Int(bytes / 1e6 / memory)) MB/s; "
                + "the scan's processor time is \(format(first.processor / memory, 2)) of that")
        let again = try await scan(root, .everything, index, options)
        print(
            "  again, unchanged: \(format(again.wall, 3)) s (\(format(again.processor, 3)) s of processor), "
                + "\(again.report.filesHashed) files read; peak memory \(peakMebibytes()) MiB")
    }

    static func measureSelection(_ place: String, _ count: Int, _ options: ScanOptions) async throws {
        let fan = 50
        for number in 0..<count / fan {
            let parent = "\(place)/d\(number / fan)/e\(number % fan)"
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            for leaf in 0..<fan { mkdir("\(parent)/f\(leaf)", 0o755) }
        }
        try write(1, of: 8, seed: 1, to: "\(place)/d0/e7/f7/file")
        let root = try RootDirectory(path: place)
        for (name, text) in [("one selected", "!/d0/e7/f7\n*"), ("all selected", "")] {
            let result = try await scan(root, Selection(parsing: text), MemoryIndex(), options)
            print(
                "\(count) directories, \(name): \(result.report.directoriesOpened) opened, "
                    + "\(result.report.changed) entries, \(format(result.wall * 1000, 2)) ms "
                    + "(\(format(result.processor * 1000, 2)) ms of processor)")
        }
    }

    static func scan(
        _ root: RootDirectory, _ selection: Selection, _ index: MemoryIndex, _ options: ScanOptions
    ) async throws -> (report: ScanReport, wall: Double, processor: Double) {
        let scanner = FolderScanner(root: root, selection: selection, known: index, options: options)
        let (start, processorStart) = (ContinuousClock.now, processorSeconds())
        let report = try await scanner.scan { index.apply($0) }
        return (report, (ContinuousClock.now - start) / .seconds(1), processorSeconds() - processorStart)
    }

    /// Seconds that hashing takes when the bytes are in memory, in pieces of the least block size.
    static func rawSeconds(bytes: Int64) -> Double {
        let piece = [UInt8](repeating: 7, count: BlockSize.minimum)
        let count = max(1, Int(bytes) / piece.count)
        let start = processorSeconds()
        var last = SHA256.digest([])
        for _ in 0..<count { last = piece.withUnsafeBytes { SHA256.digest($0) } }
        precondition(last.words.0 != 0)
        return processorSeconds() - start
    }

    /// Time that this process had a core, which other processes do not take away.
    static func processorSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    static func peakMebibytes() -> Int {
        var usage = rusage()
        // RUSAGE_SELF, which is of another type here than the function wants.
        getrusage(0, &usage)
        return usage.ru_maxrss / 1024
    }

    static func format(_ value: Double, _ digits: Int = 1) -> String { String(format: "%.\(digits)f", value) }

    // MARK: making files

    static func makeSmallFiles(_ place: String) throws {
        for directory in 0..<200 {
            let path = "\(place)/d\(directory)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            for file in 0..<100 { try write(1, of: 4096, seed: directory * 100 + file, to: "\(path)/file \(file)") }
        }
    }

    static func makeLargeFile(_ place: String) throws {
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try write(2048, of: 1 << 20, seed: 1, to: "\(place)/file")
    }

    /// Writes `count` pieces of `size` bytes, no two alike.
    static func write(_ count: Int, of size: Int, seed: Int, to path: String) throws {
        guard let file = fopen(path, "w") else { throw CocoaError(.fileWriteUnknown) }
        defer { fclose(file) }
        var piece = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ seed) }
        for number in 0..<count {
            withUnsafeBytes(of: UInt64(seed) << 32 | UInt64(number)) { piece.replaceSubrange(0..<8, with: $0) }
            guard fwrite(piece, 1, size, file) == size else { throw CocoaError(.fileWriteUnknown) }
        }
    }
}
