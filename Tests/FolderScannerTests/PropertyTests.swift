import Foundation
import Selection
import SyncTestKit
import Testing

@testable import FolderScanner

@Suite struct PropertyTests {
    /// Whatever was done to files and selection between scans, what the index announces is what a scan with an empty
    /// index finds; and then nothing is left to announce.
    @Test(arguments: 0..<30 as Range<UInt64>) func findingsLeadToWhatAFreshScanFinds(seed: UInt64) async throws {
        var random = RandomTree(tree: try TemporaryTree(), generator: SeededGenerator(seed: seed))
        let index = ModelIndex()
        // By the real clock: files written just before a scan are read again in the next.
        var options = ScanOptions()
        options.workers = seed % 4 == 0 ? .threads(2) : .callingTask
        options.batch.findings = 5
        for round in 0..<6 {
            for _ in 0..<random.generator.int(0...25) { random.edit() }
            let selection = try random.selection()
            index.apply(try await random.tree.findings(index, selection: selection, options: options))
            let fresh = try await random.tree.scanned(selection: selection, options: options)
            #expect(index.announced == fresh.announced, "round \(round)")
            let rest = try await random.tree.findings(index, selection: selection, options: options)
            #expect(rest.allSatisfy { if case .status = $0 { true } else { false } }, "round \(round)")
            index.apply(rest)
        }
    }

    /// A scan of a part finds what a scan of everything finds there, and no more than the new directories on the way.
    @Test(arguments: 100..<130 as Range<UInt64>) func aPartIsScannedAsInTheWhole(seed: UInt64) async throws {
        var random = RandomTree(tree: try TemporaryTree(), generator: SeededGenerator(seed: seed))
        for _ in 0..<30 { random.edit() }
        let index = try await random.tree.scanned(selection: try random.selection())
        for _ in 0..<random.generator.int(0...25) { random.edit() }
        let selection = try random.selection()
        let whole = try await random.tree.findings(index, selection: selection)
        for _ in 0..<10 {
            let subtrees = (0...random.generator.int(0...3)).map { _ in random.path() }
            let part = try await random.tree.findings(index, selection: selection, subtrees)
            func isInside(_ finding: Finding) -> Bool {
                subtrees.contains { finding.name == $0 || finding.name.hasPrefix($0 + "/") }
            }
            #expect(part.filter(isInside) == whole.filter(isInside), "\(subtrees)")
            let way = part.filter { !isInside($0) }
            for finding in way {
                #expect(whole.contains(finding), "\(subtrees)")
                #expect(subtrees.contains { $0.hasPrefix(finding.name + "/") }, "\(subtrees)")
            }
            // What is new is not announced without the directories that it is in.
            for case .changed(let entry) in part {
                for case .changed(let above) in whole where entry.name.hasPrefix(above.name + "/") {
                    #expect(part.contains(.changed(above)), "\(subtrees)")
                }
            }
        }
    }

    @Test(arguments: 200..<208 as Range<UInt64>) func resultsDependOnTheTreeAlone(seed: UInt64) async throws {
        var random = RandomTree(tree: try TemporaryTree(), generator: SeededGenerator(seed: seed))
        for _ in 0..<60 { random.edit() }
        let index = try await random.tree.scanned()
        for _ in 0..<30 { random.edit() }
        let selection = try random.selection()
        var options = ScanOptions.plain
        options.batch.findings = 7
        var results: [[ScanBatch]] = []
        for workers in [ScanOptions.Workers.callingTask, .callingTask, .threads(3)] {
            options.workers = workers
            let collected = Collected()
            let scanner = FolderScanner(
                root: random.tree.root, selection: selection, known: index, options: options)
            _ = try await scanner.scan { collected.add($0) }
            results.append(collected.all)
        }
        #expect(results[0] == results[1])
        #expect(results[0] == results[2])
    }
}
