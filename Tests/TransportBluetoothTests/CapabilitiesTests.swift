import Testing

@testable import TransportBluetooth

@Suite struct CapabilitiesTests {
    @Test(arguments: [nil, 0x80, 0xFF] as [UInt16?])
    func roundTrip(_ psm: UInt16?) throws {
        let capabilities = Capabilities(psm: psm)
        #expect(Capabilities(capabilities.encoded) == capabilities)
        #expect(capabilities.supportsL2CAP == (psm != nil))
        #expect(capabilities.encoded.count < 180)
    }

    @Test func readsWhatGhostDropWrites() throws {
        let text =
            #"{ "psm" : 193, "capabilities":{"maxWindow":32,"protocolVersion":1,"supportsL2CAP":true,"maxChunk":180}}"#
        let capabilities = try #require(Capabilities(Array(text.utf8)))
        #expect(capabilities.protocolVersion == 1)
        #expect(capabilities.psm == 193)
        #expect(capabilities.supportsL2CAP)
    }

    @Test(arguments: [
        "", "x", "{}", "[]", #"{"capabilities":{}}"#, #"{"psm":128}"#, String(repeating: " ", count: 600),
    ])
    func refuses(_ text: String) {
        #expect(Capabilities(Array(text.utf8)) == nil)
    }
}
