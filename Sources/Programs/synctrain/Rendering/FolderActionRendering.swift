import ControlAPI
import Phrases

/// What settling something in a folder changes, for people.
struct FolderActionRendering: Sendable {
    var style: Style

    func question(_ plan: FolderActionOutcome) -> String {
        let folder = style.name(plan.folder)
        guard plan.isChange else { return translated("Resume \(folder)?") }
        let (parts, place) = (parts(plan, .changes), place(plan))
        return switch plan.action {
        case .override: translated("Overriding \(folder) \(parts) \(place). Go on?")
        case .revert: translated("Reverting \(folder) \(parts) \(place). Go on?")
        case .confirm: translated("Confirming \(folder) \(parts) \(place). Go on?")
        case .repair: translated("Repairing \(folder) \(parts) \(place). Go on?")
        }
    }

    func lines(_ outcome: FolderActionOutcome) -> [String] {
        let folder = style.name(outcome.folder)
        let lost = outcome.lostFiles.map { $0 > 0 ? [lostLine(folder, $0)] : [] } ?? []
        guard outcome.isChange else {
            let text =
                switch (outcome.action, outcome.isDryRun) {
                case (.repair, true): translated("\(folder): would resume; no file would be restored")
                case (.repair, false): translated("\(folder): resumed; no file to restore")
                case (_, true): translated("\(folder): nothing would change")
                case (_, false): translated("\(folder): nothing to change")
                }
            return [text] + lost
        }
        let parts = parts(outcome, outcome.isDryRun ? .wouldChange : .changed)
        var lines = [translated("\(folder): \(parts) \(place(outcome))")]
        lines += outcome.paths.map { "  \(style.name($0))" }
        let named = Int64(outcome.paths.count)
        let all = [outcome.files, outcome.directories, outcome.deletions].reduce(0, &+)
        if named > 0, all > named { lines.append(translated("  and \(Quantity.names(all - named)) more")) }
        return lines + lost
    }

    private func lostLine(_ folder: String, _ files: Int64) -> String {
        files == 1
            ? translated("\(folder): 1 file cannot be restored: no other device has it")
            : translated("\(folder): \(Quantity.files(files)) cannot be restored: no other device has them")
    }

    private enum Tense { case changes, wouldChange, changed }

    private func parts(_ outcome: FolderActionOutcome, _ tense: Tense) -> String {
        var changed: [String] = []
        if outcome.files > 0 {
            changed.append("\(Quantity.files(outcome.files)) (\(Quantity.size(outcome.bytes)))")
        }
        if outcome.directories > 0 { changed.append(Quantity.directories(outcome.directories)) }
        let (what, names) = (changed.joined(separator: translated(" and ")), Quantity.names(outcome.deletions))
        let (change, deletion) =
            switch tense {
            case .changes: (translated("changes \(what)"), translated("deletes \(names)"))
            case .wouldChange: (translated("would change \(what)"), translated("would delete \(names)"))
            case .changed: (translated("changed \(what)"), translated("deleted \(names)"))
            }
        let parts = (changed.isEmpty ? [] : [change]) + (outcome.deletions > 0 ? [deletion] : [])
        return parts.joined(separator: translated(" and "))
    }

    private func place(_ outcome: FolderActionOutcome) -> String {
        switch outcome.action {
        case .confirm where outcome.isHere == true: translated("on this device")
        case .override, .confirm: translated("on the other devices")
        case .revert, .repair: translated("on this device")
        }
    }
}
