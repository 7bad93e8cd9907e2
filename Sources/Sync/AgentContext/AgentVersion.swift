/// What this program calls itself.
package enum AgentVersion {
    package static let clientName = "synctrain"
    package static let current = "0.1.0"
    /// As Hello carries it.
    package static let wire = "v" + current
}
