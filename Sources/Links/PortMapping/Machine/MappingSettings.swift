import Cryptography
import Transport

/// How ports are mapped; the same for every router.
package struct MappingSettings: Sendable, Equatable {
    /// What is asked for. Routers may give less, and a router may know no end at all.
    package var lease: Duration = .seconds(3600)
    /// A mapping is renewed after this time, or after half its lease if that is shorter: a renewal is also how a router is
    /// noticed that lost its mappings or has a new address.
    package var renewal: Duration = .seconds(600)
    /// What the router shows people beside the mapping.
    package var label = "synctrain"
    /// How many external ports are tried at a router that does not choose one itself.
    package var portTries = 10
    package var methods = Set(MappingMethod.allCases)

    package init() {}

    var leaseSeconds: UInt32 { UInt32(clamping: lease.components.seconds) }
}

/// What makes the mappings of this device its own.
package struct MappingIdentity: Sendable, Equatable {
    private let key: [UInt8]

    /// - Parameter secret: bytes that stay the same over restarts and that other devices do not know, for example a hash of
    ///   the device's private key. A router lets only the sender of the same nonce renew or delete a PCP mapping.
    package init(secret: [UInt8]) { key = secret.isEmpty ? [0] : secret }

    /// The nonce of this device's PCP mapping of `port` at `gateway` (RFC 6887 section 11.2).
    package func nonce(port: ListenedPort, gateway: Gateway) -> [UInt8] {
        Array(code("nonce \(gateway.local.address)", port, gateway).prefix(12))
    }

    /// The external ports to ask for, 1024 to 65534, in this order; the same after a restart.
    package func externalPorts(port: ListenedPort, gateway: Gateway, count: Int) -> [UInt16] {
        var ports: [UInt16] = []
        var round = 0
        while ports.count < count, round < 64 {
            let bytes = code("port \(round)", port, gateway)
            for index in stride(from: 0, to: bytes.count - 1, by: 2) where ports.count < count {
                let number = UInt16(1024 + (Int(bytes[index]) << 8 | Int(bytes[index + 1])) % (65535 - 1024))
                if !ports.contains(number) { ports.append(number) }
            }
            round += 1
        }
        return ports
    }

    private func code(_ purpose: String, _ port: ListenedPort, _ gateway: Gateway) -> [UInt8] {
        let message = "\(purpose)|\(port)|\(gateway.address)"
        // Only an empty key or a machine without memory fails.
        guard let code = try? HMACSHA256.code(of: Array(message.utf8), key: key) else {
            return [UInt8](repeating: 0x5A, count: 32)
        }
        return code.withUnsafeBytes { Array($0) }
    }
}
