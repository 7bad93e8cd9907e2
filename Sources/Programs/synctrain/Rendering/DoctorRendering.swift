import ControlAPI
import Phrases

/// Findings in columns: area, state, and what is, why it matters and what helps.
struct DoctorRendering: Sendable {
    var style: Style
    /// Whether what is as it should be has a line each.
    var isVerbose = false

    func lines(_ report: DoctorReport) -> [String] {
        let areas = DoctorFinding.Area.allCases
        let areaWidth = areas.map { DisplayWidth.of(Word.shown($0.rawValue)) }.max() ?? 0
        let stateWidth = DoctorFinding.State.allCases.map { DisplayWidth.of(Word.shown($0.rawValue)) }.max() ?? 0
        let indent = String(repeating: " ", count: areaWidth + stateWidth + 4)
        var lines: [String] = []
        for area in areas {
            let findings = report.findings.filter { $0.area == area }
            for (index, finding) in shown(findings).enumerated() {
                let title = Table.pad(index == 0 ? Word.shown(area.rawValue) : "", to: areaWidth)
                let state = style.finding(finding.state, padded: stateWidth)
                let text = text(finding)
                lines.append("\(title)  \(state)  \(text[0])")
                lines += text.dropFirst().map { indent + $0 }
            }
        }
        return lines + ["", summary(report)]
    }

    /// Without `isVerbose` one line for all that is well in an area.
    private func shown(_ findings: [DoctorFinding]) -> [DoctorFinding] {
        guard !isVerbose else { return findings }
        let well = findings.filter { $0.state == .ok }
        let others = findings.filter { $0.state != .ok }
        guard well.count > 1, let first = well.first else {
            return others + well.map { DoctorFinding($0.area, $0.code, .ok, $0.text) }
        }
        let rest = Quantity.moreChecks(Int64(well.count - (others.isEmpty ? 1 : 0)))
        return others + [
            DoctorFinding(first.area, first.code, .ok, others.isEmpty ? "\(first.text) \(rest)." : "\(rest).")
        ]
    }

    private func text(_ finding: DoctorFinding) -> [String] {
        let shown = { (phrase: Phrase) in style.name(phrase.shown) }
        var lines = [shown(finding.text)]
        lines += finding.detailTexts.map { "- " + shown($0) }
        if let why = finding.whyText { lines.append(shown(why)) }
        if let remedy = finding.remedyText { lines.append(shown(remedy)) }
        if let command = finding.command { lines.append("  " + style.name(command)) }
        return lines
    }

    private func summary(_ report: DoctorReport) -> String {
        let counts = [DoctorFinding.State.problem, .warning, .note].compactMap { state -> String? in
            let count = report.findings.count { $0.state == state }
            guard count > 0 else { return nil }
            return switch state {
            case .problem: Quantity.problems(count)
            case .warning: Quantity.warnings(count)
            case .note, .ok: Quantity.notes(count)
            }
        }
        return counts.isEmpty ? translated("No problems.") : counts.joined(separator: ", ") + "."
    }
}

extension Style {
    fileprivate func finding(_ state: DoctorFinding.State, padded width: Int) -> String {
        let text = Table.pad(Word.shown(state.rawValue), to: width)
        guard hasColor else { return text }
        let code =
            switch state {
            case .ok: "32"
            case .note: "36"
            case .warning: "33"
            case .problem: "31"
            }
        return "\u{1b}[\(code)m\(text)\u{1b}[0m"
    }
}
