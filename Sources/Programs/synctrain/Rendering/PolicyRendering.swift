import Arithmetic
import ControlAPI

/// How the machine is connected and powered, and what that holds back.
struct PolicyRendering: Sendable {
    var style: Style

    /// All of it.
    func lines(_ policies: PolicyStatus) -> [String] {
        let charge = policies.charge.map { ", \(Int(nearest: $0)) %" } ?? ""
        let holds = holds(policies)
        return Table.lines([
            ["connection is metered", policies.metered.rawValue],
            ["runs on battery", policies.battery.rawValue + charge],
        ]) + (holds.isEmpty ? ["nothing is restricted"] : holds) + policies.remarks.map { style.name($0) }
    }

    /// What holds, or that it is ignored; nothing where neither is so.
    func holds(_ policies: PolicyStatus) -> [String] {
        guard !policies.isIgnored else {
            let end = policies.ignoredUntil.map { " until \(Timestamp.local($0))" } ?? ""
            return ["suspended\(end); `synctrain policy apply` re-enables them"]
        }
        return policies.holds.map { style.name("\($0.message); \($0.remedy)") }
    }
}
