import AgentConfiguration
import ControlAPI
import LinkSecurity
import Transport

/// Dials any address by the transport that serves it.
package struct LinkDialer: Sendable {
    /// How long a dial and a TLS handshake may take.
    package static let timeout: Duration = .seconds(10)
    /// How long a dial through a relay may take: the relay is asked for an invitation, then the session is joined.
    static let relayTimeout: Duration = .seconds(15)
    /// How long a dial by radio may take: a device is looked for, connected, and asked what it offers before its channel.
    static let radioTimeout: Duration = .seconds(45)

    package let transports: [any LinkTransport]

    package init(transports: [any LinkTransport]) {
        self.transports = transports
    }

    /// Connects to `address` by the transport that serves it.
    ///
    /// - Parameter effort: what may be done to find a device on a radio first.
    /// - Throws: `LinkError` (`unsupportedAddress` without a transport for it), or what `install` failed with; nothing
    ///   is left open then. `CancellationError`.
    package func dial(
        _ address: LinkAddress, _ effort: RadioEffort = .searching, install: @escaping LinkInstaller<SecureLink>
    ) async throws -> SecureLink {
        guard let transport = transports.first(where: { $0.serves(address) }) else {
            throw LinkError(.unsupportedAddress, "cannot dial \(address): unsupported address", isTransient: false)
        }
        let timeout = address.isSlow ? Self.radioTimeout : Self.timeout
        guard let radio = transport as? any RadioTransport else {
            return try await transport.dial(address, timeout: timeout, install: install)
        }
        return try await radio.dial(address, effort, timeout: timeout, install: install)
    }

    /// Reads an address that a user has entered.
    package func address(parsing text: String) throws(ControlError) -> LinkAddress {
        let address: LinkAddress
        do {
            address = try LinkAddress(parsing: AddressSyntax.completed(text))
        } catch {
            throw ControlError(.invalidRequest, message: error.message, path: text)
        }
        guard address.isDialable, transports.contains(where: { $0.serves(address) }) else {
            throw ControlError(
                .invalidRequest, "Cannot dial \(address): unsupported address; use an address such as tcp://HOST:PORT.",
                path: text)
        }
        return address
    }
}
