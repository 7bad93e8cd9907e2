import ControlAPI
import IndexStore
import Selection

extension SelectionReading {
    /// The text of `.stignore`; empty if there is none.
    ///
    /// - Throws: `FileAccessError`, `IgnoreError` or `FolderHalt` if it cannot be read.
    package func patterns() async throws -> IgnorePatterns {
        let (place, id) = (folder.place, folder.id.rawValue)
        let file = try await folder.onDisk { try place.ignoreFile() }
        return IgnorePatterns(folder: id, text: String(decoding: file.bytes, as: UTF8.self))
    }

    /// Says what other patterns would match: of the first `entryLimit` entries of the index, by name.
    ///
    /// - Throws: `IgnoreError` for what is not a pattern; `FileAccessError` or `FolderHalt` for what it includes;
    ///   `IndexStoreError`; `CancellationError`.
    package func preview(_ text: String) async throws -> PatternsOutcome {
        try await folder.outcome(of: try await folder.compiled(text).selection, isDryRun: true)
    }
}

/// Replaces the ignore patterns of a folder. What they ignore stays on this disk.
package struct WritePatternsStep: FolderStep {
    let text: String
    let over: String

    /// - Parameter over: the text that was edited.
    package init(text: String, over: String) { (self.text, self.over) = (text, over) }

    /// - Throws: `IgnoreError` for what is not a pattern; `ControlError` (`alreadyExists` if the file is not `over` any more,
    ///   `invalidRequest` for no patterns where only what is selected is kept); `FolderError.selectionChanged`.
    package func run(_ folder: FolderContext, _ work: inout FolderWork) async throws -> PatternsOutcome {
        let place = folder.place
        let current = try await folder.onDisk { try place.ignoreFile() }
        guard current.bytes.elementsEqual(over.utf8) else {
            throw ControlError(
                .alreadyExists, "\(folder.id): .stignore was changed meanwhile. Load it again and repeat the change.",
                isRetryable: false, path: folder.id.rawValue)
        }
        let (file, selection) = try await folder.compiled(text)
        guard folder.settings.mode == .full || !selection.patterns.isEmpty else {
            throw ControlError(
                .invalidRequest,
                "Without a pattern everything would be kept. Use `synctrain folder mode \(ShellWord.quoted(folder.id.rawValue)) full` for that.",
                path: folder.id.rawValue)
        }
        let outcome = try await folder.outcome(of: selection, isDryRun: false)
        _ = try await folder.writing(file, over: current, &work)
        return outcome
    }
}

extension FolderContext {
    fileprivate func compiled(_ text: String) async throws -> (file: IgnoreFile, selection: Selection) {
        let place = place
        return try await onDisk {
            let file = try IgnoreFile(parsing: text)
            return (file, try Selection(file, include: place.readIncluded))
        }
    }

    fileprivate func outcome(of new: Selection, isDryRun: Bool) async throws -> PatternsOutcome {
        var tally = PatternTally(new, instead: selection)
        var after: String?
        var (entryCount, isWhole) = (0, true)
        repeat {
            let page = try await index.store.descendants(id, of: "", after: after, limit: FolderIndex.pageLimit)
            for entry in page where entry.isPresent && !entry.isDirectory {
                tally.add(entry.path, byteCount: entry.file?.size ?? 0)
            }
            after = page.count == FolderIndex.pageLimit ? page.last?.path : nil
            entryCount += page.count
            if after != nil, entryCount >= PatternsOutcome.entryLimit {
                isWhole = false
                after = nil
            }
        } while after != nil
        let lines = zip(new.patterns, tally.lines).prefix(PatternsOutcome.lineLimit).map { pattern, count in
            PatternsOutcome.Line(
                file: pattern.file, number: pattern.line, text: pattern.text, isIgnoring: pattern.isIgnoring,
                matched: PatternsOutcome.Count(count))
        }
        return PatternsOutcome(
            folder: id.rawValue, isDryRun: isDryRun, lines: lines, files: tally.all.files,
            ignored: PatternsOutcome.Count(tally.ignored), newlyIgnored: PatternsOutcome.Count(tally.newlyIgnored),
            newlyKept: PatternsOutcome.Count(tally.newlyKept),
            isWhole: isWhole && new.patterns.count <= PatternsOutcome.lineLimit)
    }
}

extension PatternsOutcome.Count {
    fileprivate init(_ count: PatternTally.Count) {
        self.init(files: count.files, bytes: count.byteCount, names: count.names)
    }
}
