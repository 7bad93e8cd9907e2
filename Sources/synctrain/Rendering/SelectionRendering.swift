import ControlAPI

/// What a change of the selection came to, for people.
struct SelectionRendering: Sendable {
    var style: Style

    func lines(_ outcome: SelectionOutcome) -> [String] {
        let folder = style.name(outcome.folder)
        var lines: [String] = []
        if outcome.added.isEmpty, outcome.removed.isEmpty {
            lines.append("\(folder): .stignore \(outcome.isDryRun ? "would stay" : "stays") as it is")
        } else {
            lines.append("\(folder): .stignore \(outcome.isDryRun ? "would change" : "has changed")")
            lines += outcome.removed.map { "  - \(style.name($0))" }
            lines += outcome.added.map { "  + \(style.name($0))" }
        }
        for path in outcome.paths {
            let name = style.name("\(outcome.folder):\(path.path)")
            if path.isException {
                lines.append(
                    path.selected == .no
                        ? "\(name) is left out of the selected directory that it is in"
                        : "\(name) is kept, though the directory that it is in is left out")
            }
            if !path.exists {
                lines.append("\(name) is not in the index now; this takes effect when it appears")
            }
        }
        return lines + costs(outcome.cost, folder: outcome.folder)
    }

    private func costs(_ cost: SelectionOutcome.Cost, folder: String) -> [String] {
        let rows = [
            ("to fetch", cost.fetchFiles, cost.fetchBytes, ""),
            ("to fetch no more", cost.sparedFiles, cost.sparedBytes, ""),
            ("here already, kept from now on", cost.adoptedFiles, cost.adoptedBytes, ""),
            (
                "extraneous from now on", cost.extraneousFiles, cost.extraneousBytes,
                "; they stay on this disk: `synctrain extraneous list \(style.name(folder))`"
            ),
        ]
        return rows.filter { $0.1 > 0 }.map { title, files, bytes, remark in
            "\(title): \(Quantity.count(files, "file")), \(Quantity.size(bytes))\(remark)"
        }
    }
}
