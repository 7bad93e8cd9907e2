import AgentConfiguration

/// Whoever knows how this machine is connected and powered.
package protocol MachineStateSource: Sendable {
    var conditions: MachineConditions { get }
    /// What is not known, and why: a sentence each.
    var remarks: [String] { get }
    /// An element whenever either may be other than it was; for one reader.
    var changes: AsyncStream<Void> { get }
    /// For one reader, who lets go of what holds the machine's sleep up as soon as it can.
    var sleep: AsyncStream<MachineSleep> { get }
}
