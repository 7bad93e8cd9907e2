/// The ignore patterns of a folder: its `.stignore`.
package struct IgnorePatterns: Codable, Equatable, Sendable {
    package var schema = 1
    package var folder: String
    /// Empty where there is none.
    package var text: String

    package init(folder: String, text: String) { (self.folder, self.text) = (folder, text) }
}

/// Other ignore patterns for a folder.
package struct PatternsChange: Codable, Equatable, Sendable, CheckedRequest {
    /// Bytes of the longest text.
    package static let byteLimit = 1 << 20

    package var folder: String
    package var text: String
    /// The text that was edited, as it was read: another one by now is not overwritten. Needed unless `isDryRun`.
    package var over: String?
    /// Only says what they would match.
    package var isDryRun: Bool

    package init(folder: String, text: String, over: String? = nil, isDryRun: Bool = false) {
        (self.folder, self.text, self.over, self.isDryRun) = (folder, text, over, isDryRun)
    }

    enum CodingKeys: String, CodingKey { case folder, text, over, isDryRun = "dryRun" }

    /// - Throws: `invalidRequest` for a change that does not say what it changes; `tooLarge`.
    package func check() throws(ControlError) {
        guard isDryRun || over != nil else {
            throw ControlError(.invalidRequest, "Give the text that was edited as `over`.", path: folder)
        }
        guard text.utf8.count <= Self.byteLimit else {
            throw ControlError(.tooLarge, "Ignore patterns have at most \(Self.byteLimit) bytes.", path: folder)
        }
    }
}

/// What ignore patterns match in the index of a folder.
package struct PatternsOutcome: Codable, Equatable, Sendable {
    package struct Count: Codable, Equatable, Sendable {
        package var files: Int
        package var bytes: Int64
        /// The first of them.
        package var names: [String]

        package init(files: Int, bytes: Int64, names: [String]) {
            (self.files, self.bytes, self.names) = (files, bytes, names)
        }
    }

    package struct Line: Codable, Equatable, Sendable {
        /// `.stignore` or a file that it includes.
        package var file: String
        /// From 1.
        package var number: Int
        package var text: String
        /// False for a line with `!`.
        package var isIgnoring: Bool
        /// The files that it is the first line to match, and so decides about.
        package var matched: Count

        package init(file: String, number: Int, text: String, isIgnoring: Bool, matched: Count) {
            (self.file, self.number, self.text, self.isIgnoring) = (file, number, text, isIgnoring)
            self.matched = matched
        }

        enum CodingKeys: String, CodingKey { case file, number, text, isIgnoring = "ignores", matched }
    }

    package var schema = 1
    package var folder: String
    package var isDryRun: Bool
    /// The first `lineLimit` lines, in the order in which they are tried.
    package var lines: [Line]
    /// The files of the folder, on any device, that were compared.
    package var files: Int
    package var ignored: Count
    package var newlyIgnored: Count
    package var newlyKept: Count
    /// Whether all lines are listed and all files were compared; false for more than `lineLimit` or `entryLimit`.
    package var isWhole: Bool

    package static let lineLimit = 500
    /// Files, directories and deleted ones.
    package static let entryLimit = 100_000

    package init(
        folder: String, isDryRun: Bool, lines: [Line], files: Int, ignored: Count, newlyIgnored: Count,
        newlyKept: Count, isWhole: Bool
    ) {
        (self.folder, self.isDryRun, self.lines, self.files) = (folder, isDryRun, lines, files)
        (self.ignored, self.newlyIgnored, self.newlyKept, self.isWhole) = (ignored, newlyIgnored, newlyKept, isWhole)
    }

    enum CodingKeys: String, CodingKey {
        case schema, folder, isDryRun = "dryRun", lines, files, ignored, newlyIgnored, newlyKept, isWhole
    }
}
