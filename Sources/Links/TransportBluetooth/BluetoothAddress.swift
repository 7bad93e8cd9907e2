import CBluetooth
import Transport

/// The 48-bit address of a Bluetooth device.
package struct BluetoothAddress: Hashable, Sendable, CustomStringConvertible {
    /// Six bytes as they are written, the most significant first.
    package let octets: [UInt8]

    /// Any adapter, as a place to listen at: `00:00:00:00:00:00`.
    package static let any = BluetoothAddress(unchecked: [UInt8](repeating: 0, count: 6))

    private init(unchecked octets: [UInt8]) { self.octets = octets }

    /// Reads six pairs of hexadecimal digits with colons between them; nil for anything else.
    package init?(_ text: some StringProtocol) {
        let pairs = text.split(separator: ":", omittingEmptySubsequences: false)
        guard pairs.count == 6 else { return nil }
        var octets: [UInt8] = []
        for pair in pairs {
            guard pair.utf8.count == 2, pair.utf8.allSatisfy(Self.isDigit), let octet = UInt8(pair, radix: 16) else {
                return nil
            }
            octets.append(octet)
        }
        self.octets = octets
    }

    /// The address as the kernel keeps it, the least significant byte first.
    package init(_ kernel: bdaddr_t) {
        let (a, b, c, d, e, f) = kernel.b
        octets = [f, e, d, c, b, a]
    }

    package var kernel: bdaddr_t {
        bdaddr_t(b: (octets[5], octets[4], octets[3], octets[2], octets[1], octets[0]))
    }

    package var description: String {
        octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined(separator: ":")
    }

    package var linkAddress: LinkAddress { .bluetooth(description) }

    private static func isDigit(_ byte: UInt8) -> Bool { Character(UnicodeScalar(byte)).isHexDigit }
}

/// Which of the two spaces a Bluetooth LE address is from (Core Specification Vol 6, Part B, 1.3).
package enum BluetoothAddressKind: String, Sendable, Hashable {
    /// Given to the adapter by its maker.
    case `public`
    /// Chosen by the device, for good or for some minutes.
    case random

    package var kernel: UInt8 { UInt8(self == .public ? BDADDR_LE_PUBLIC : BDADDR_LE_RANDOM) }
}
