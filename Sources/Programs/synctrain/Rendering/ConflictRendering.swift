import ControlAPI
import Phrases

/// Conflicts for people.
struct ConflictRendering: Sendable {
    var style: Style

    /// The file, and its two versions.
    func lines(_ conflict: Conflict) -> [String] {
        let rows = [(translated("mine"), conflict.mine), (translated("theirs"), conflict.theirs)].map { side, version in
            [
                "  \(side)", style.name(device(version)), version.size.map(Quantity.size) ?? translated("gone"),
                Timestamp.local(version.modified), style.name(version.path),
            ]
        }
        return [style.name("\(conflict.folder):\(conflict.path)")]
            + Table.lines(rows, alignments: [.left, .left, .right])
    }

    func differences(_ details: ConflictDetails) -> [String] {
        guard let diff = details.diff else { return details.remarkPhrase.map { ["  \($0.shown)"] } ?? [] }
        // Lines of files are shown as names are: what a terminal would act on is escaped.
        var lines = diff.split(separator: "\n", omittingEmptySubsequences: false).map { style.name(String($0)) }
        if lines.last == "" { lines.removeLast() }
        return lines + (details.isCut ? [translated("  … and more")] : [])
    }

    func lines(_ outcome: ConflictAnswer.Outcome) -> [String] {
        let name = style.name("\(outcome.conflict.folder):\(outcome.conflict.path)")
        if let problem = outcome.problem { return ["\(name): \(problem)"] }
        switch outcome.keep {
        case .both:
            return [
                translated(
                    "\(name): both are kept, the other as \(style.name(outcome.renamed ?? outcome.conflict.copy))")
            ]
        case .mine, .theirs:
            let (kept, other) =
                outcome.keep == .mine
                ? (outcome.conflict.mine, outcome.conflict.theirs) : (outcome.conflict.theirs, outcome.conflict.mine)
            let fate = outcome.archived.map { translated("is now \(style.name($0))") } ?? translated("is gone")
            return [translated("\(name): kept what \(device(kept)) has; the version of \(device(other)) \(fate)")]
        }
    }

    private func device(_ version: Conflict.Version) -> String {
        if !version.name.isEmpty { return version.name }
        return version.device.isEmpty ? translated("unknown") : String(version.device.prefix(7))
    }
}
