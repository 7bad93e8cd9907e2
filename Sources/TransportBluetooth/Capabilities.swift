/// What a device says of itself in the capabilities characteristic.
package struct Capabilities: Equatable, Sendable {
    package var supportsL2CAP: Bool
    package var maxChunk = 180
    package var maxWindow = 32
    package var protocolVersion = 2
    package var psm: UInt16?

    package init(psm: UInt16?) {
        self.psm = psm
        supportsL2CAP = psm != nil
    }

    /// As it is served: JSON without anything that tells this device from others.
    package var encoded: [UInt8] {
        let psm = psm.map { #","psm":\#($0)"# } ?? ""
        return Array(
            (#"{"capabilities":{"supportsL2CAP":\#(supportsL2CAP),"maxChunk":\#(maxChunk),"maxWindow":\#(maxWindow),"#
                + #""protocolVersion":\#(protocolVersion)}\#(psm)}"#).utf8)
    }

    /// Longest value that is read; the characteristic cannot have more.
    static let byteLimit = 512

    /// Reads a peer's value; nil if it is not one.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.byteLimit else { return nil }
        let text = String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace }
        func value(_ key: String) -> Substring? {
            guard let range = text.firstRange(of: "\"\(key)\":") else { return nil }
            return text[range.upperBound...].prefix { $0.isLetter || $0.isNumber }
        }
        guard text.first == "{", let flag = value("supportsL2CAP"),
            let version = value("protocolVersion").flatMap({ Int($0) })
        else { return nil }
        supportsL2CAP = flag == "true"
        maxChunk = value("maxChunk").flatMap { Int($0) } ?? 180
        maxWindow = value("maxWindow").flatMap { Int($0) } ?? 32
        protocolVersion = version
        psm = value("psm").flatMap { UInt16($0) }
    }
}
