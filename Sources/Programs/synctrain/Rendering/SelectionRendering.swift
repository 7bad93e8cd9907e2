import ControlAPI
import Phrases

/// What a change of the selection came to, for people.
struct SelectionRendering: Sendable {
    var style: Style

    func lines(_ outcome: SelectionOutcome) -> [String] {
        let folder = style.name(outcome.folder)
        var lines: [String] = []
        if outcome.added.isEmpty, outcome.removed.isEmpty {
            lines.append(
                outcome.isDryRun
                    ? translated("\(folder): .stignore would stay as it is")
                    : translated("\(folder): .stignore stays as it is"))
        } else {
            lines.append(
                outcome.isDryRun
                    ? translated("\(folder): .stignore would change") : translated("\(folder): .stignore has changed")
            )
            lines += outcome.removed.map { "  - \(style.name($0))" }
            lines += outcome.added.map { "  + \(style.name($0))" }
        }
        for path in outcome.paths {
            let name = style.name("\(outcome.folder):\(path.path)")
            if path.isException {
                lines.append(
                    path.selected == .no
                        ? translated("\(name) is excluded from the selected directory that contains it")
                        : translated("\(name) is selected although the directory that contains it is excluded"))
            }
            if !path.exists { lines += missing(path, name, outcome) }
        }
        if let files = outcome.stillSelected {
            lines.append(
                translated(
                    "\(Quantity.files(files)) below stay selected: lines of .stignore that you wrote say so; `synctrain explain` shows which"
                ))
        }
        lines += costs(outcome.cost, folder: outcome.folder, hasFreed: outcome.freeing != nil)
        if let short = outcome.short {
            lines.append(
                translated(
                    "does not fit: \(Quantity.size(short)) short of free space above minimum-free; free some space or select less"
                )
            )
        }
        if let freeing = outcome.freeing { lines += self.lines(freeing, outcome) }
        return lines
    }

    /// What it means for a path that the index does not have, which may be a slip of the keyboard.
    private func missing(_ path: SelectionOutcome.Path, _ name: String, _ outcome: SelectionOutcome) -> [String] {
        var lines: [String] = []
        if path.selected != .no || path.isException {
            lines.append(translated("\(name) is not in the index yet; this takes effect when it appears"))
        } else if outcome.removed.isEmpty, outcome.added.isEmpty {
            lines.append(translated("\(name) is not in the index and was not selected; check the name"))
        }
        if path.path.contains(where: "*?[".contains) {
            lines.append(
                translated("\(name) is taken as a name, not as a pattern; patterns can be written into .stignore"))
        }
        return lines
    }

    /// What went from this disk, and what did not and why.
    private func lines(_ freeing: FreeingOutcome, _ outcome: SelectionOutcome) -> [String] {
        var lines: [String] = []
        func title(_ files: Int64, _ bytes: Int64, _ words: String) {
            lines.append("\(words): \(Quantity.files(files)), \(Quantity.size(bytes))")
        }
        func names(_ names: [StayingName], of count: Int64) {
            lines += names.map { name in
                let shown = style.name("\(outcome.folder):\(name.path)")
                let size = Table.pad(Quantity.size(name.size), to: 8, .right)
                return "  \(size)  \(shown)  \(name.reason): \(translated("\(name.phrase)"))"
            }
            if count > Int64(names.count) { lines.append(translated("  and \(count - Int64(names.count)) more")) }
        }
        if freeing.freedFiles > 0 {
            title(
                freeing.freedFiles, freeing.freedBytes,
                outcome.isDryRun ? translated("would be freed") : translated("freed"))
            if outcome.isDryRun {
                lines += freeing.freed.map { "  \(style.name("\(outcome.folder):\($0)"))" }
                let rest = freeing.freedFiles - Int64(freeing.freed.count)
                if rest > 0 { lines.append(translated("  and \(rest) more")) }
            }
        }
        if freeing.givenUpFiles > 0 {
            title(
                freeing.givenUpFiles, freeing.givenUpBytes,
                outcome.isDryRun ? translated("would be deleted") : translated("deleted"))
            if outcome.isDryRun { names(freeing.givenUp, of: freeing.givenUpFiles) }
        }
        if freeing.stayingFiles > 0 {
            title(
                freeing.stayingFiles, freeing.stayingBytes,
                outcome.isDryRun ? translated("would stay on this disk") : translated("stays on this disk"))
            names(freeing.staying, of: freeing.stayingFiles)
        }
        return lines
    }

    private func costs(_ cost: SelectionOutcome.Cost, folder: String, hasFreed: Bool) -> [String] {
        var rows = [
            (translated("to fetch"), cost.fetchFiles, cost.fetchBytes, ""),
            (translated("no longer to fetch"), cost.sparedFiles, cost.sparedBytes, ""),
            (translated("already here, kept from now on"), cost.adoptedFiles, cost.adoptedBytes, ""),
            (
                translated("extraneous from now on"), cost.extraneousFiles, cost.extraneousBytes,
                translated(
                    "; they stay on this disk: `synctrain extraneous list \(style.name(ShellWord.quoted(folder)))`")
            ),
        ]
        // What stays is named one by one.
        if hasFreed { rows.removeLast() }
        return rows.filter { $0.1 > 0 }.map { title, files, bytes, remark in
            "\(title): \(Quantity.files(files)), \(Quantity.size(bytes))\(remark)"
        }
    }
}
