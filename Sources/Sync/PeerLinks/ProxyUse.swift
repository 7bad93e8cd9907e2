/// Which links take a proxy.
package enum ProxyUse: Sendable, Equatable {
    case none
    /// The proxy is tried first; directly where it fails.
    case first
    /// Nothing leaves this machine but through the proxy, and nobody is let in but over what goes through it: no listening for
    /// TCP, no announcements on the local network or of TCP addresses, no port mapping.
    case only
}
