import Arithmetic
import ControlAPI
import Phrases

/// How the machine is connected and powered, and what that holds back.
struct PolicyRendering: Sendable {
    var style: Style

    /// All of it.
    func lines(_ policies: PolicyStatus) -> [String] {
        let charge = policies.charge.map { ", \(Int(nearest: $0)) %" } ?? ""
        let holds = holds(policies)
        return Table.lines([
            [translated("connection is metered"), Word.shown(policies.metered.rawValue)],
            [translated("runs on battery"), Word.shown(policies.battery.rawValue) + charge],
        ]) + (holds.isEmpty ? [translated("nothing is restricted")] : holds) + policies.remarks.map { style.name($0) }
    }

    /// What holds, or that it is ignored; nothing where neither is so.
    func holds(_ policies: PolicyStatus) -> [String] {
        guard !policies.isIgnored else {
            guard let end = policies.ignoredUntil else {
                return [translated("suspended; `synctrain policy apply` re-enables them")]
            }
            return [translated("suspended until \(Timestamp.local(end)); `synctrain policy apply` re-enables them")]
        }
        return policies.holds.map { style.name($0.phrase.shown) }
    }
}
