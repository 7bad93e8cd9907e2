/// What this program calls itself.
public enum AgentVersion {
    public static let clientName = "synctrain"
    public static let current = "0.1.0"
    /// As Hello carries it.
    static let wire = "v" + current
}
