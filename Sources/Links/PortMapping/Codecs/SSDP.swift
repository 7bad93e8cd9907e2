import Transport
import Trimming

/// Simple Service Discovery Protocol (UPnP Device Architecture 1.1, section 1.3): who in the network is an internet gateway.
package enum SSDP {
    package static let group = "239.255.255.250"
    package static let port: UInt16 = 1900
    /// Longest answer that is read.
    package static let maximumByteCount = 4096

    /// The kinds of gateway, in the order in which they are searched for.
    package static let gatewayTypes = [
        "urn:schemas-upnp-org:device:InternetGatewayDevice:2", "urn:schemas-upnp-org:device:InternetGatewayDevice:1",
    ]

    /// The search for devices of `type`; they answer within 2 s.
    package static func search(for type: String) -> [UInt8] {
        Array(
            """
            M-SEARCH * HTTP/1.1\r
            HOST: \(group):\(port)\r
            ST: \(type)\r
            MAN: "ssdp:discover"\r
            MX: 2\r
            \r\n
            """.utf8)
    }

    /// The answer of a device to a search.
    package struct Answer: Equatable, Sendable {
        package var type: String
        package var location: RouterURL

        /// - Throws: `malformed` if it is no answer of a gateway with a location that can be asked; `tooLarge` above
        ///   4096 bytes.
        package init(_ bytes: [UInt8]) throws(PortMappingError) {
            guard bytes.count <= SSDP.maximumByteCount else {
                throw PortMappingError(.tooLarge, "the answer to the search is longer than 4096 bytes")
            }
            let lines = String(decoding: bytes, as: UTF8.self).split(
                omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            guard let status = lines.first, status.hasPrefix("HTTP/1.") else {
                throw .malformed("the answer to the search is not one of HTTP")
            }
            let words = status.split(separator: " ")
            guard words.count >= 2, words[1] == "200" else { throw .malformed("the answer to the search is an error") }
            var headers: [String: String] = [:]
            for line in lines.dropFirst().prefix(64) {
                guard let colon = line.firstIndex(of: ":") else { continue }
                let name = line[..<colon].lowercased()
                // The first of a name counts.
                if headers[name] == nil { headers[name] = line[line.index(after: colon)...].withoutOuterBlanks }
            }
            guard let type = headers["st"], SSDP.gatewayTypes.contains(type) else {
                throw .malformed("the answer to the search is not from a gateway")
            }
            guard let text = headers["location"] else { throw .malformed("the answer to the search has no location") }
            self.type = type
            location = try RouterURL(text)
        }
    }
}
